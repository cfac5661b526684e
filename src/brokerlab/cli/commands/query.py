"""brokerlab query SQL"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from brokerlab.cli import options
from brokerlab.cli.text import aligned, print_json


@click.command()
@click.argument("sql")
@options.lake
@options.runs
@options.spark
@options.as_json
def command(
    sql: str,
    lake: str | None,
    runs: Path | None,
    profile: str | None,
    master: str | None,
    conf: tuple[str, ...],
    as_json: bool,
) -> int:
    """Answer one SELECT over the lake's tables; docs/lake.md lists them. Answered by DuckDB where it is installed and the
    lake is a folder, else by Spark."""
    from brokerlab import lab

    settings = lab.spark_settings(profile, master, conf)
    found = lab.query_lake(options.lake_address(lake, runs), sql, spark=settings)
    if as_json:
        print_json(found.to_pylist())
        return 0
    rows = [[_text(value) for value in row.values()] for row in found.to_pylist()]
    numbers = [i for i, kind in enumerate(found.schema.types) if str(kind).startswith(("int", "double", "decimal"))]
    for line in aligned([list(found.column_names), *rows], right=numbers):
        click.echo(line)
    return 0


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}" if abs(value) < 1e6 else f"{value:.1f}"
    return "" if value is None else str(value)
