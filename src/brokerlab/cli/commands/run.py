"""brokerlab run FILE"""

from __future__ import annotations

from pathlib import Path

import click

from brokerlab.cli import options
from brokerlab.cli.answer import print_answer
from brokerlab.cli.planning import plan_from, planning_options
from brokerlab.cli.progress import listening


@click.command()
@click.argument("file")
@planning_options
@options.fresh
@options.export
@options.export_token
@options.runs
@options.lake
@options.no_lake
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
    export: str | None,
    export_token: str | None,
    runs: Path | None,
    lake: str | None,
    no_lake: bool,
    as_json: bool,
    quiet: bool,
) -> int:
    """Run FILE (or a shipped workload's name): start brokers, load, verify, analyze, report.

    The same command given again resumes a run that was interrupted; executions that have ended are kept.
    """
    from brokerlab import lab

    exports = options.exports(export, export_token)
    plan = plan_from(file, overrides, brokers, repeats, tag, endpoints)
    with listening(quiet) as listener:
        keep = options.lake_to_keep_in(lake, no_lake, runs)
        answer = lab.run(plan, options.runs_root(runs), listener=listener, fresh=fresh, lake=keep, exports=exports)
    return print_answer(answer, as_json)
