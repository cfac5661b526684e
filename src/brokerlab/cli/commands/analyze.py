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
@options.lake
@options.no_lake
@options.spark
@options.as_json
@options.quiet
def command(
    run: str,
    runs: Path | None,
    lake: str | None,
    no_lake: bool,
    profile: str | None,
    master: str | None,
    conf: tuple[str, ...],
    as_json: bool,
    quiet: bool,
) -> int:
    """Rebuild tables, verdict and report of RUN from its evidence; works on a run that was cut off, too.

    The exit code is the verdict's, as after `run`.
    """
    from brokerlab import lab

    settings = lab.spark_settings(profile, master, conf)
    found = lab.find_run(run, options.runs_root(runs))
    with listening(quiet) as listener:
        keep = options.lake_to_keep_in(lake, no_lake, runs)
        answer = lab.analyze(found, listener=listener, lake=keep, spark=settings)
    return print_answer(answer, as_json)
