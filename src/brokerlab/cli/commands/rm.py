"""brokerlab rm RUN"""

from __future__ import annotations

import sys
from pathlib import Path

import click

from brokerlab.cli import options
from brokerlab.cli.text import bytes_text, print_json


@click.command()
@options.run_name
@options.runs
@click.option("--yes", is_flag=True, help="Do not ask.")
@options.as_json
def command(run: str, runs: Path | None, yes: bool, as_json: bool) -> int:
    """Delete RUN with its evidence. Refused while the run is in progress."""
    from brokerlab import lab
    from brokerlab.errors import ExitCode, UserError
    from brokerlab.results.run_state import delete_run, size_bytes

    found = lab.find_run(run, options.runs_root(runs))
    size = size_bytes(found)
    if not yes:
        if not sys.stdin.isatty():
            raise UserError(f"{found.name} was not deleted: there is no terminal to ask on", hint="give --yes")
        if not click.confirm(f"Delete {found.path} ({bytes_text(size)})?", err=True):
            click.echo("kept", err=True)
            return int(ExitCode.USER)
    delete_run(found)
    if as_json:
        print_json({"deleted": found.name, "bytes": size})
    else:
        click.echo(f"deleted {found.name} ({bytes_text(size)})")
    return 0
