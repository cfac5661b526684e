"""brokerlab history [METRIC...]"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from brokerlab.cli import options
from brokerlab.cli.text import print_json
from brokerlab.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from brokerlab.judge.history import History


@click.command()
@click.argument("metrics", metavar="[METRIC...]", nargs=-1)
@click.option(
    "--where", multiple=True, metavar="NAME=VALUE",
    help="Only cells of which this holds: broker, version, host, tag, workload, ... * stands for anything. Repeatable.",
)  # fmt: skip
@click.option("--html", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Write a page, too.")
@options.from_lake
@options.runs
@options.as_json
def command(
    metrics: tuple[str, ...],
    where: tuple[str, ...],
    html: Path | None,
    lake: str | None,
    runs: Path | None,
    as_json: bool,
) -> int:
    """How did METRIC change over time, and what changed with it? One line for each question that was asked in several runs,
    with its change points. Without METRIC: rates, and p99 of the latencies."""
    from brokerlab import lab
    from brokerlab.cli.history_text import text_lines
    from brokerlab.judge.history import DEFAULT_METRICS

    root = options.one_source(lake, runs)
    named = [options.metric_named(m, "METRIC") for m in metrics] or list(DEFAULT_METRICS)
    found = lab.history(list(dict.fromkeys(named)), root, where=_where(where), lake=lake, page=html)
    if as_json:
        print_json({**_document(found), "page": str(html) if html else None})
        return 0
    for line in text_lines(found):
        click.echo(line)
    if html:
        click.echo(f"page: {html}")
    return 0


def _where(given: tuple[str, ...]) -> Mapping[str, list[str]]:
    """By name; one that is given twice may have either value."""
    found: dict[str, list[str]] = defaultdict(list)
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name.strip() or not value.strip():
            raise UserError(f"--where must be NAME=VALUE (got {text!r})", hint="for example --where tag=nightly")
        found[name.strip()].append(value.strip())
    return found


def _document(found: History) -> dict[str, Any]:
    series = [{**dataclasses.asdict(s), "levels": s.levels()} for s in found.series]
    return {"schema_version": 1, "tested": found.tested, "notes": list(found.notes), "series": series}
