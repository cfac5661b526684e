"""brokerlab install BROKER"""

from __future__ import annotations

import dataclasses

import click

from brokerlab.cli import options
from brokerlab.cli.progress import listening
from brokerlab.cli.text import print_json


@click.command()
@options.broker_name
@options.as_json
@options.quiet
def command(broker: str, as_json: bool, quiet: bool) -> int:
    """Fetch BROKER into the cache, verify and unpack it. Does nothing when it is there already."""
    from brokerlab.brokers.registry import broker_named

    front = broker_named(broker)
    with listening(quiet) as say:
        say.stage(f"installing {broker}")
        installation = front.install(lambda what, done: say.progress(done, what))
    if as_json:
        print_json({"broker": broker, **dataclasses.asdict(installation)})
    else:
        where = f" in {installation.location}" if installation.location else ""
        click.echo(f"{broker} {installation.version}: installed{where}")
        if not installation.runs_here:
            click.echo(f"  but it does not run here: {installation.reason}")
    return 0
