"""brokerlab demo"""

from __future__ import annotations

from pathlib import Path

import click

from brokerlab.cli import options
from brokerlab.cli.commands.run import run_to_answer
from brokerlab.cli.planning import plan_from, planning_options
from brokerlab.cli.text import duration_text

WORKLOAD = "demo"


@click.command()
@planning_options
@click.option("--fresh", is_flag=True, help="Begin a new run even where an unfinished one could be resumed.")
@options.runs
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
    as_json: bool,
    quiet: bool,
) -> int:
    """Run the shipped demo workload: real brokers, real load, every message accounted for."""
    from brokerlab.cli.estimate import estimate

    plan = plan_from(WORKLOAD, overrides, brokers, repeats, tag, endpoints)
    root = options.runs_root(runs)
    if not quiet:
        about = duration_text(estimate(plan).seconds)
        click.echo(f"{plan.question or plan.name}\n{len(plan.order)} executions, about {about}", err=True)
    code = run_to_answer(plan, root, fresh=fresh, as_json=as_json, quiet=quiet)
    if not as_json and not quiet:
        click.echo("next:   brokerlab init my.yaml; brokerlab plan my.yaml; brokerlab run my.yaml")
    return code
