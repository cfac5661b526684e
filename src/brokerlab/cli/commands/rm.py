"""brokerlab rm RUN"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import click

from brokerlab.cli import options
from brokerlab.cli.run_state import exclusively
from brokerlab.cli.text import bytes_text, print_json


@click.command()
@options.run_name
@options.runs
@click.option("--yes", is_flag=True, help="Do not ask.")
@options.as_json
def command(run: str, runs: Path | None, yes: bool, as_json: bool) -> int:
    """Delete RUN with its evidence. Refused while the run is in progress."""
    from brokerlab.errors import ExitCode, UserError
    from brokerlab.results.directory import find_run

    found = find_run(options.runs_root(runs), run)
    with exclusively(found.path):
        size = sum(f.stat().st_size for f in found.path.rglob("*") if f.is_file())
        if not yes:
            if not sys.stdin.isatty():
                raise UserError("not asked, not deleted: there is no terminal to ask on", hint="give --yes to delete")
            if not click.confirm(f"Delete {found.path} ({bytes_text(size)})?", err=True):
                click.echo("kept", err=True)
                return int(ExitCode.USER)
        # Renamed first: a deletion that is cut off leaves nothing that looks like a run.
        doomed = found.path.with_name(f".deleting-{found.name}")
        found.path.rename(doomed)
        shutil.rmtree(doomed)
    if as_json:
        print_json({"deleted": found.name, "bytes": size})
    else:
        click.echo(f"deleted {found.name} ({bytes_text(size)})")
    return 0
