"""brokerlab run FILE"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from brokerlab.cli import options
from brokerlab.cli.commands.plan import left_out_lines
from brokerlab.cli.finish import analyse_and_report, print_answer
from brokerlab.cli.planning import plan_from, planning_options
from brokerlab.cli.prepare import prepare
from brokerlab.cli.progress import listening

if TYPE_CHECKING:
    from brokerlab.model.plan import RunPlan


@click.command()
@click.argument("file")
@planning_options
@click.option("--fresh", is_flag=True, help="Begin a new run even where an unfinished one could be resumed.")
@options.runs
@options.as_json
@options.quiet
def command(
    file: str,
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
    """Run FILE (or a shipped workload's name): start brokers, load, verify, analyse, report.

    The same command given again resumes a run that was interrupted; finished executions are kept.
    """
    plan = plan_from(file, overrides, brokers, repeats, tag, endpoints)
    return run_to_answer(plan, options.runs_root(runs), fresh=fresh, as_json=as_json, quiet=quiet)


def _readable_passwords(plan: RunPlan) -> list[str]:
    asked = [c for c in plan.cells if c.security is not None and c.security.password is not None]
    brokers = ", ".join(dict.fromkeys(c.broker for c in asked if c.security is not None and not c.security.tls))
    return [f"{brokers}: a password without TLS crosses the wire readable"] if brokers else []


def run_to_answer(plan: RunPlan, root: Path, *, fresh: bool, as_json: bool, quiet: bool) -> int:
    """Run the plan, analyse it, print the answer; the exit code is the verdict's."""
    from brokerlab.runner import run

    with listening(quiet) as say:
        for line in [*left_out_lines(plan), *_readable_passwords(plan)]:
            say.note(line)
        java = prepare(plan, say)
        finished = run(plan, root, say=say, fresh=fresh, java=java.version)
    verdict = analyse_and_report(finished, quiet)
    print_answer(finished, verdict, as_json)
    return int(verdict.exit_code())
