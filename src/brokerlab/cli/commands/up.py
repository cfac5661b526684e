"""brokerlab up BROKER"""

from __future__ import annotations

import sys
from typing import Any

import click

from brokerlab.cli import options
from brokerlab.cli.progress import listening
from brokerlab.cli.standing import standing_directory, status_lines
from brokerlab.cli.text import print_json


@click.command()
@options.broker_name
@click.option("--nodes", type=click.IntRange(min=1), help="Cluster size (default: the smallest the broker has).")
@click.option("--durability", metavar="L1|L2|L3|L4", help="Level wanted (default: the weakest at that size).")
@options.as_json
@options.quiet
def command(broker: str, nodes: int | None, durability: str | None, as_json: bool, quiet: bool) -> int:
    """Start BROKER in the background, on loopback; installs it first where necessary.

    It keeps running until `brokerlab down BROKER`, which deletes its data.
    """
    from brokerlab.brokers.registry import broker_named
    from brokerlab.cluster import daemon

    front = broker_named(broker)
    directory = standing_directory()
    already = daemon.ask(directory, broker, "status")
    if already is not None:
        _print({**already, "started": False}, as_json)
        return 0
    wanted_nodes, wanted_level = _wanted(broker, front.capabilities, nodes, durability)
    with listening(quiet) as say:
        if not front.installation().installed:
            say.stage(f"installing {broker}")
            front.install(lambda what, done: say.progress(done, what))
        say.stage(f"starting {broker} ({wanted_nodes} node{'s' if wanted_nodes > 1 else ''}, {wanted_level})")
        plan = {"broker": broker, "nodes": wanted_nodes, "durability": wanted_level, "directory": str(directory)}
        status = daemon.start(directory, broker, [sys.executable, "-m", "brokerlab.cli.supervise"], plan)
    _print({**status, "started": True}, as_json)
    return 0


def _wanted(broker: str, capabilities: Any, nodes: int | None, durability: str | None) -> tuple[int, str]:
    """Size and level, checked against what the broker can do."""
    from brokerlab.errors import UserError

    size = nodes if nodes is not None else min(capabilities.nodes)
    if size not in capabilities.nodes:
        known = ", ".join(map(str, capabilities.nodes))
        raise UserError(f"{broker} does not come with {size} nodes", hint=f"possible here: {known}")
    levels = [str(level) for level in capabilities.durability_levels[size]]
    level = durability.upper() if durability else max(levels)
    if level not in levels:
        raise UserError(f"{broker} with {size} node(s) does not offer {level}", hint=f"possible: {', '.join(levels)}")
    return size, level


def _print(status: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(status)
        return
    if not status["started"]:
        click.echo(f"{status['broker']} is up already")
    for line in status_lines(status):
        click.echo(line)
    click.echo(f"use it:   brokerlab run FILE --endpoint {status['broker']}={','.join(status['endpoint'])}")
    click.echo(f"stop it:  brokerlab down {status['broker']}")
