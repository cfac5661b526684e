"""brokerlab compare BASE CANDIDATE..."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from brokerlab.cli import options
from brokerlab.cli.text import print_json
from brokerlab.errors import ExitCode, UserError

if TYPE_CHECKING:
    from brokerlab.judge.compared import Compared


@click.command()
@click.argument("base", metavar="BASE")
@click.argument("candidates", metavar="CANDIDATE...", nargs=-1, required=True)
@click.option("--metric", "metrics", multiple=True, metavar="METRIC", help="Compare this metric only. Repeatable.")
@click.option("--unlike", "allow_unlike", is_flag=True, help="Compare although durability or driver path differ.")
@click.option("--fail-on", multiple=True, metavar="worse[:METRIC]", help="Exit 7 where this is found. Repeatable.")
@click.option("--html", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Write a page, too.")
@click.option("--markdown", is_flag=True, help="Print Markdown instead of text.")
@options.from_lake
@options.runs
@options.as_json
def command(
    base: str,
    candidates: tuple[str, ...],
    metrics: tuple[str, ...],
    allow_unlike: bool,
    fail_on: tuple[str, ...],
    html: Path | None,
    markdown: bool,
    lake: str | None,
    runs: Path | None,
    as_json: bool,
) -> int:
    """Is CANDIDATE better or worse than BASE? Each is a run, a tag, or one cell of a run (RUN:CELL)."""
    from brokerlab import lab
    from brokerlab.cli.compare_text import markdown_lines, text_lines
    from brokerlab.judge.compared import DEFAULT_METRICS

    watched = [_watched(text) for text in fail_on]
    named = [options.metric_named(m, "--metric") for m in metrics] or list(DEFAULT_METRICS)
    asked = [*dict.fromkeys([*named, *(m for m in watched if m)])]
    if markdown and as_json:
        raise UserError("--markdown and --json exclude each other", hint="give one of them")
    found = lab.compare(
        base, candidates, options.one_source(lake, runs), metrics=asked, allow_unlike=allow_unlike, page=html, lake=lake
    )  # fmt: skip
    failed = _failed(found, watched)
    if as_json:
        print_json({**_document(found), "failed_on": failed, "page": str(html) if html else None})
    else:
        for line in markdown_lines(found) if markdown else text_lines(found):
            click.echo(line)
        if html:
            click.echo(f"page: {html}", err=markdown)
        for line in failed:
            click.echo(f"failed: {line}", err=True)
    return int(ExitCode.OBJECTIVE_MISSED if failed else ExitCode.OK)


def _watched(text: str) -> str:
    """The metric of worse:METRIC; empty for any."""
    word, _, metric = text.partition(":")
    if word != "worse":
        raise UserError(f"--fail-on must be worse or worse:METRIC (got {text!r})", hint="for example --fail-on worse")
    return options.metric_named(metric, "--fail-on") if metric else ""


def _failed(found: Compared, watched: list[str]) -> list[str]:
    return [
        f"{answer.metric} of {cell.candidate_cell} in {cell.candidate} is worse"
        for cell in found.cells
        for answer in cell.answers
        if answer.answer == "worse" and any(not m or m == answer.metric for m in watched)
    ]


def _document(found: Compared) -> dict[str, Any]:
    from brokerlab.judge.compared import ANSWERS
    from brokerlab.judge.compared_headline import headline

    counts = {word: found.count(word) for word in ANSWERS}
    return {"schema_version": 1, "headline": headline(found), **dataclasses.asdict(found), "counts": counts}
