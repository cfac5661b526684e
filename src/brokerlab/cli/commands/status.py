"""brokerlab status [BROKER]"""

from __future__ import annotations

import click

from brokerlab.cli import options
from brokerlab.cli.started_brokers import status_lines
from brokerlab.cli.text import print_json


@click.command()
@click.argument("broker", required=False)
@options.as_json
def command(broker: str | None, as_json: bool) -> int:
    """Show BROKER, or every broker, that `brokerlab up` started: endpoint, processes, uptime."""
    from brokerlab import background

    if broker is None:
        answers = background.statuses()
    else:
        answers = [background.status(broker) or {"broker": broker, "state": "down"}]
    if as_json:
        print_json(answers if broker is None else answers[0])
        return 0
    if not answers:
        click.echo("no broker is up")
    for answer in answers:
        for line in status_lines(answer) if answer["state"] != "down" else [f"{answer['broker']}: down"]:
            click.echo(line)
    return 0
