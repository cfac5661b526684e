"""brokerlab status [BROKER]"""

from __future__ import annotations

import click

from brokerlab.cli import options
from brokerlab.cli.started_brokers import started_brokers_directory, status_lines
from brokerlab.cli.text import print_json


@click.command()
@click.argument("broker", required=False)
@options.as_json
def command(broker: str | None, as_json: bool) -> int:
    """Show BROKER, or every broker, that `brokerlab up` started: endpoint, processes, uptime."""
    from brokerlab.brokers.registry import BROKERS, broker_named
    from brokerlab.processes import daemon

    if broker is not None:
        broker_named(broker)
    answers = {}
    for name in [broker] if broker is not None else list(BROKERS):
        answer = daemon.ask(started_brokers_directory(), name, "status")
        if answer is not None or broker is not None:
            answers[name] = answer if answer is not None else {"broker": name, "state": "down"}
    if as_json:
        print_json(list(answers.values()) if broker is None else answers[broker])
    elif not answers:
        click.echo("no broker is up")
    for answer in answers.values() if not as_json else ():
        for line in status_lines(answer) if answer["state"] != "down" else [f"{answer['broker']}: down"]:
            click.echo(line)
    return 0
