"""brokerlab serve"""

from __future__ import annotations

import contextlib
from pathlib import Path

import click

from brokerlab.cli import options


@click.command()
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8787, show_default=True, help="Port on 127.0.0.1; 0: any free one."
)
@options.runs
def command(port: int, runs: Path | None) -> int:
    """Show runs in a browser, live ones too: start, watch, stop and compare them.

    Only this machine can connect. Reading is open to it; the token in the printed address is needed to change something. Ctrl-C ends
    the server and no run.
    """
    from brokerlab.dashboard.serve import serve

    with contextlib.suppress(KeyboardInterrupt):  # the usual way to end it
        serve(options.runs_root(runs), port, lambda address: click.echo(f"dashboard: {address}"))
    return 0
