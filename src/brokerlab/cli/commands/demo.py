"""brokerlab demo"""

from __future__ import annotations

from pathlib import Path

import click

from brokerlab.cli import options
from brokerlab.cli.answer import print_answer
from brokerlab.cli.planning import plan_from, planning_options
from brokerlab.cli.progress import listening
from brokerlab.cli.text import duration_text

WORKLOAD = "demo"


@click.command()
@planning_options
@options.fresh
@options.runs
@options.lake
@options.no_lake
@options.as_json
@options.quiet
def command(
    overrides: tuple[str, ...],
    brokers: str | None,
    repeats: int | None,
    tag: str | None,
    endpoints: tuple[str, ...],
    fresh: bool,
    runs: Path | None,
    lake: str | None,
    no_lake: bool,
    as_json: bool,
    quiet: bool,
) -> int:
    """Run the shipped demo workload: real brokers, real load, every message accounted for."""
    from brokerlab import lab

    plan = plan_from(WORKLOAD, overrides, brokers, repeats, tag, endpoints)
    if not quiet:
        about = duration_text(lab.estimate(plan).seconds)
        click.echo(f"{plan.question or plan.name}\n{len(plan.order)} executions, about {about}", err=True)
    with listening(quiet) as listener:
        keep = options.lake_to_keep_in(lake, no_lake, runs)
        answer = lab.run(plan, options.runs_root(runs), listener=listener, fresh=fresh, lake=keep)
    code = print_answer(answer, as_json)
    if not as_json and not quiet:
        click.echo("next:   brokerlab init my.yaml; brokerlab plan my.yaml; brokerlab run my.yaml")
    return code
