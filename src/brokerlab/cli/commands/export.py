"""brokerlab export RUN FORMAT"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from brokerlab.cli import options
from brokerlab.errors import UserError

if TYPE_CHECKING:
    from brokerlab.model.tables import Table
    from brokerlab.results.export.analyzed import AnalyzedRun

FORMATS = ("json", "csv", "parquet", "markdown", "junit", "openmetrics")
_ENDINGS = {"json": "json", "markdown": "md", "junit": "xml", "openmetrics": "txt"}
_WITHOUT_TABLES = ("junit", "openmetrics")


@click.command()
@options.run_name
@click.argument("form", metavar=f"{'|'.join(FORMATS)}", type=click.Choice(FORMATS))
@click.option("--table", "names", multiple=True, metavar="NAME", help="This result table; repeatable, or `all`.")
@click.option("--out", default="-", metavar="DIR|-", help="Directory for files, or - for stdout (default).")
@options.runs
def command(run: str, form: str, names: tuple[str, ...], out: str, runs: Path | None) -> int:
    """Write RUN in a format of other programs: its figures and verdict, or whole result tables."""
    from brokerlab import lab
    from brokerlab.results.export.analyzed import AnalyzedRun

    tables = [t for name in names for t in _tables(name)]
    if tables and form in _WITHOUT_TABLES:
        raise UserError(f"--table does not go with {form}", hint="csv, json, markdown and parquet have tables")
    analyzed = AnalyzedRun(lab.find_run(run, options.runs_root(runs)))
    _ = analyzed.verdict  # a run that was not analyzed has tables of no run
    if out == "-":
        click.echo(_one_text(analyzed, form, tables), nl=False)
        return 0
    for file in _write(analyzed, form, tables, Path(out)):
        click.echo(str(file))
    return 0


def _tables(name: str) -> list[Table]:
    from brokerlab.results.tables import RESULT_TABLES

    if name == "all":
        return list(RESULT_TABLES.values())
    if name in RESULT_TABLES:
        return [RESULT_TABLES[name]]
    near = difflib.get_close_matches(name, RESULT_TABLES, n=1, cutoff=0.4)
    hint = f"did you mean {near[0]!r}?" if near else f"tables: {', '.join(RESULT_TABLES)}"
    raise UserError(f"--table: no result table is called {name!r}", hint=hint)


def _one_text(run: AnalyzedRun, form: str, tables: Sequence[Table]) -> str:
    from brokerlab.results.export.documents import as_csv
    from brokerlab.results.tables import RUN_SUMMARY

    if form == "parquet":
        raise UserError("parquet is written to files only", hint="give --out DIR")
    if form == "csv":
        if len(tables) > 1:
            raise UserError(f"{len(tables)} tables do not fit into one CSV", hint="give one --table, or --out DIR")
        return as_csv(run, tables[0] if tables else RUN_SUMMARY)
    return _document(form)(run, tables)


def _document(form: str) -> Callable[[AnalyzedRun, Sequence[Table]], str]:
    from brokerlab.results.export.documents import as_json, as_markdown
    from brokerlab.results.export.junit import as_junit
    from brokerlab.results.export.openmetrics import as_openmetrics

    return {
        "json": as_json,
        "markdown": as_markdown,
        "junit": lambda run, _tables: as_junit(run),
        "openmetrics": lambda run, _tables: as_openmetrics(run),
    }[form]


def _write(run: AnalyzedRun, form: str, tables: Sequence[Table], folder: Path) -> Iterator[Path]:
    """Files, each whole or not at all: <run>.<ending>, or <run>.<table>.<ending> for csv and parquet."""
    import pyarrow.parquet as pq

    from brokerlab.results.export.documents import as_csv
    from brokerlab.results.tables import RUN_SUMMARY

    try:
        folder.mkdir(parents=True, exist_ok=True)
        for table in (tables or [RUN_SUMMARY]) if form in ("csv", "parquet") else ():
            file = folder / f"{run.directory.name}.{table.name}.{form}"
            aside = file.with_name(f".{file.name}")
            if form == "csv":
                aside.write_text(as_csv(run, table), "utf-8")
            else:
                pq.write_table(run.table(table), aside)
            yield aside.replace(file)
        if form in _ENDINGS:
            file = folder / f"{run.directory.name}.{_ENDINGS[form]}"
            aside = file.with_name(f".{file.name}")
            aside.write_text(_document(form)(run, tables), "utf-8")
            yield aside.replace(file)
    except OSError as error:
        raise UserError(
            f"--out: {folder} cannot be written: {error.strerror or error}", hint="give another one"
        ) from error
