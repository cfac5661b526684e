"""brokerlab watch RUN"""

from __future__ import annotations

import sys
from pathlib import Path

import click

from brokerlab.cli import options


@click.command()
@options.run_name
@options.runs
def command(run: str, runs: Path | None) -> int:
    """Show RUN while it goes: rates, latency, lag, processors and the verdict so far. "last" is the newest.

    Ends with the run; Ctrl-C ends the watching and not the run. Where the output is no terminal, lines are printed once a second.
    """
    from brokerlab import lab
    from brokerlab.dashboard.following import FollowedRun
    from brokerlab.dashboard.terminal import followed_lines

    screens = followed_lines(FollowedRun(lab.find_run(run, options.runs_root(runs))))
    if not sys.stdout.isatty():
        for lines in screens:
            click.echo("\n".join([*lines, ""]))
        return 0
    from rich.live import Live
    from rich.text import Text

    with Live(auto_refresh=False) as live:
        for lines in screens:
            live.update(Text("\n".join(lines)), refresh=True)
    return 0
