"""brokerlab report RUN"""

from __future__ import annotations

from pathlib import Path

import click

from brokerlab.cli import options
from brokerlab.cli.text import print_json


@click.command()
@options.run_name
@options.runs
@options.as_json
def command(run: str, runs: Path | None, as_json: bool) -> int:
    """Rebuild the HTML report of RUN from its tables and print its path."""
    from brokerlab import lab

    found = lab.find_run(run, options.runs_root(runs))
    path = lab.report(found)
    if as_json:
        print_json({"run": found.name, "report": str(path)})
    else:
        click.echo(str(path))
    return 0
