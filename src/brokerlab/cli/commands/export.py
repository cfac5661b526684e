"""brokerlab export [RUN] FORMAT"""

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
    from brokerlab.results.analyzed import AnalyzedRun

FORMATS = ("json", "csv", "parquet", "markdown", "junit", "openmetrics")
_ENDINGS = {"json": "json", "markdown": "md", "junit": "xml", "openmetrics": "txt"}
_WITHOUT_TABLES = ("junit", "openmetrics")


@click.command()
@click.argument("what", metavar=f"[RUN] {'|'.join(FORMATS)}", nargs=-1, required=True)
@click.option("--table", "names", multiple=True, metavar="NAME", help="This result table; repeatable, or `all`.")
@click.option(
    "--from", "begin", metavar="TIME", help="With csv or parquet: seconds from here on, such as 2026-11-17T21:00:00Z."
)
@click.option("--to", "end", metavar="TIME", help="Seconds before this time, likewise with its zone.")
@click.option("--out", default="-", metavar="DIR|-", help="Directory for files, or - for stdout (default).")
@options.from_lake
@options.runs
def command(
    what: tuple[str, ...],
    names: tuple[str, ...],
    begin: str | None,
    end: str | None,
    out: str,
    lake: str | None,
    runs: Path | None,
) -> int:
    """Write RUN, or with --lake and no RUN all runs of a lake, in a format of other programs: figures and verdict, or whole
    result tables; with --from and --to what a table by second has of that time (reading_per_second, if none is named)."""
    from brokerlab import lab

    run, form = _asked(what, lake)
    tables = [t for name in names for t in _tables(name)]
    if begin is not None or end is not None:
        return _export_range(run, form, tables, begin, end, out, lake, runs)
    if tables and form in _WITHOUT_TABLES:
        raise UserError(f"--table does not go with {form}", hint="csv, json, markdown and parquet have tables")
    root = options.one_source(lake, runs)
    with lab.analyzed_runs(run, root, lake=lake) as found:
        if out == "-":
            text, files = _one_text(found, form, tables), []
        else:
            stem = found[0].plan.run if run is not None else "lake"
            text, files = "", list(_write(found, stem, form, tables, Path(out)))
    click.echo(text + "".join(f"{file}\n" for file in files), nl=False)
    return 0


def _export_range(
    run: str | None,
    form: str,
    tables: Sequence[Table],
    begin: str | None,
    end: str | None,
    out: str,
    lake: str | None,
    runs: Path | None,
) -> int:
    from brokerlab import lab
    from brokerlab.results.export.time_range import check_table, csv_in_range, parse_range, write_parquet_in_range
    from brokerlab.results.tables import READING_PER_SECOND

    wanted = parse_range(begin, end)
    if form not in ("csv", "parquet"):
        raise UserError(f"--from and --to do not go with {form}", hint="csv and parquet have times")
    chosen = tables or [READING_PER_SECOND]
    for table in chosen:
        check_table(table)
    with lab.analyzed_runs(run, options.one_source(lake, runs), lake=lake) as found:
        if out == "-":
            if form == "parquet" or len(chosen) > 1:
                raise UserError("only one table as csv can be written to stdout", hint="give --out DIR")
            click.echo(csv_in_range(found, chosen[0], wanted), nl=False)
            return 0
        folder, stem = Path(out), found[0].plan.run if run is not None else "lake"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for table in chosen:
                file = folder / f"{stem}.{table.name}.{form}"
                aside = file.with_name(f".{file.name}")
                if form == "csv":
                    aside.write_text(csv_in_range(found, table, wanted), "utf-8")
                else:
                    write_parquet_in_range(aside, found, table, wanted)
                click.echo(str(aside.replace(file)))
        except OSError as error:
            raise UserError(
                f"--out: {folder} cannot be written: {error.strerror or error}", hint="give another one"
            ) from error
    return 0


def _asked(what: tuple[str, ...], lake: str | None) -> tuple[str | None, str]:
    """The run, None for all of a lake, and the format."""
    *names, form = what
    if form not in FORMATS:
        near = difflib.get_close_matches(form, FORMATS, n=1, cutoff=0.4)
        hint = f"did you mean {near[0]!r}?" if near else "brokerlab export RUN json"
        raise UserError(f"the format must be one of {', '.join(FORMATS)} (got {form!r})", hint=hint)
    if len(names) > 1:
        raise UserError(
            f"one run at a time can be exported, given {', '.join(names)}", hint="--lake without a run has all"
        )
    if not names and lake is None:
        raise UserError("which run?", hint=f"brokerlab export RUN {form}; --lake URI {form} has all runs of a lake")
    return (names[0] if names else None), form


def _tables(name: str) -> list[Table]:
    from brokerlab.results.tables import RESULT_TABLES

    if name == "all":
        return list(RESULT_TABLES.values())
    if name in RESULT_TABLES:
        return [RESULT_TABLES[name]]
    near = difflib.get_close_matches(name, RESULT_TABLES, n=1, cutoff=0.4)
    hint = f"did you mean {near[0]!r}?" if near else f"tables: {', '.join(RESULT_TABLES)}"
    raise UserError(f"--table: no result table is called {name!r}", hint=hint)


def _one_text(runs: Sequence[AnalyzedRun], form: str, tables: Sequence[Table]) -> str:
    from brokerlab.results.export.documents import as_csv

    if form == "parquet":
        raise UserError("parquet is written to files only", hint="give --out DIR")
    if form == "csv":
        if len(tables) > 1:
            raise UserError(f"{len(tables)} tables do not fit into one CSV", hint="give one --table, or --out DIR")
        return as_csv(runs, tables[0] if tables else _main_table(runs))
    return _document(form)(runs, tables)


def _main_table(runs: Sequence[AnalyzedRun]) -> Table:
    """What is exported where no table is named. A run that only watched has no cells, and so no summary of them."""
    from brokerlab.results.tables import READING_PER_SECOND, RUN_SUMMARY

    return READING_PER_SECOND if all(run.plan.kind == "monitor" for run in runs) else RUN_SUMMARY


def _document(form: str) -> Callable[[Sequence[AnalyzedRun], Sequence[Table]], str]:
    from brokerlab.results.export.documents import as_json, as_markdown
    from brokerlab.results.export.junit import as_junit
    from brokerlab.results.export.openmetrics import as_openmetrics

    return {
        "json": as_json,
        "markdown": as_markdown,
        "junit": lambda runs, _tables: as_junit(runs),
        "openmetrics": lambda runs, _tables: as_openmetrics(runs),
    }[form]


def _write(runs: Sequence[AnalyzedRun], stem: str, form: str, tables: Sequence[Table], folder: Path) -> Iterator[Path]:
    """Files, each whole or not at all: <run>.<ending>, or <run>.<table>.<ending> for csv and parquet; <run> is `lake` for
    all runs of one."""
    from brokerlab.results.export.documents import as_csv, write_parquet

    try:
        folder.mkdir(parents=True, exist_ok=True)
        for table in (tables or [_main_table(runs)]) if form in ("csv", "parquet") else ():
            file = folder / f"{stem}.{table.name}.{form}"
            aside = file.with_name(f".{file.name}")
            if form == "csv":
                aside.write_text(as_csv(runs, table), "utf-8")
            else:
                write_parquet(aside, runs, table)
            yield aside.replace(file)
        if form in _ENDINGS:
            file = folder / f"{stem}.{_ENDINGS[form]}"
            aside = file.with_name(f".{file.name}")
            aside.write_text(_document(form)(runs, tables), "utf-8")
            yield aside.replace(file)
    except OSError as error:
        raise UserError(
            f"--out: {folder} cannot be written: {error.strerror or error}", hint="give another one"
        ) from error
