"""brokerlab analyze RUN"""

from __future__ import annotations

from pathlib import Path

import click

from brokerlab.cli import options
from brokerlab.cli.answer import print_answer
from brokerlab.cli.progress import listening


@click.command()
@options.run_name
@options.runs
@options.as_json
@options.quiet
def command(run: str, runs: Path | None, as_json: bool, quiet: bool) -> int:
    """Rebuild tables, verdict and report of RUN from its evidence; works on a run that was cut off, too.

    The exit code is the verdict's, as after `run`.
    """
    from brokerlab import lab

    found = lab.find_run(run, options.runs_root(runs))
    with listening(quiet) as listener:
        answer = lab.analyze(found, listener=listener)
    return print_answer(answer, as_json)
