"""brokerlab down BROKER"""

from __future__ import annotations

import click

from brokerlab.cli import options
from brokerlab.cli.text import print_json


@click.command()
@options.broker_name
@options.as_json
def command(broker: str, as_json: bool) -> int:
    """Stop BROKER where `brokerlab up` started it, and delete its data."""
    from brokerlab import background

    answer = background.down(broker)
    if as_json:
        print_json(answer)
    else:
        click.echo(f"{broker}: stopped, data deleted")
    return 0
