"""brokerlab analyze RUN"""

from __future__ import annotations

from pathlib import Path

import click

from brokerlab.cli import options
from brokerlab.cli.finish import analyse_and_report, print_answer


@click.command()
@options.run_name
@options.runs
@options.as_json
@options.quiet
def command(run: str, runs: Path | None, as_json: bool, quiet: bool) -> int:
    """Rebuild tables, verdict and report of RUN from its evidence; works on a run that was cut off, too.

    The exit code is the verdict's, as after `run`.
    """
    from brokerlab.results.directory import find_run

    found = find_run(options.runs_root(runs), run)
    verdict = analyse_and_report(found, quiet)
    print_answer(found, verdict, as_json)
    return int(verdict.exit_code())
