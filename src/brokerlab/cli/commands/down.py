"""brokerlab down BROKER"""

from __future__ import annotations

import click

from brokerlab.cli import options
from brokerlab.cli.started_brokers import started_brokers_directory
from brokerlab.cli.text import print_json


@click.command()
@options.broker_name
@options.as_json
def command(broker: str, as_json: bool) -> int:
    """Stop BROKER where `brokerlab up` started it, and delete its data."""
    from brokerlab.brokers.registry import broker_named
    from brokerlab.errors import NotFoundError
    from brokerlab.processes import daemon

    broker_named(broker)
    answer = daemon.ask(started_brokers_directory(), broker, "stop")
    if answer is None:
        raise NotFoundError(f"{broker} is not up", hint=f"brokerlab up {broker} starts it")
    if as_json:
        print_json(answer)
    else:
        click.echo(f"{broker}: stopped, data deleted")
    return 0
