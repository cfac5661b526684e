"""brokerlab up BROKER"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from brokerlab.cli import options
from brokerlab.cli.progress import listening
from brokerlab.cli.started_brokers import started_brokers_directory, status_lines, use_flags
from brokerlab.cli.text import print_json

if TYPE_CHECKING:
    from brokerlab.model.plan import Security


@click.command()
@options.broker_name
@click.option("--nodes", type=click.IntRange(min=1), help="Cluster size (default: the smallest the broker has).")
@click.option("--durability", metavar="L1|L2|L3|L4", help="Level wanted (default: the weakest at that size).")
@click.option("--tls", is_flag=True, help="Connections must be encrypted; a certificate is made.")
@click.option("--user", help="Who may log in; needs --password.")
@click.option("--password", metavar="env:NAME|file:PATH", help="Where the password is; never the password itself.")
@options.as_json
@options.quiet
def command(
    broker: str,
    nodes: int | None,
    durability: str | None,
    tls: bool,
    user: str | None,
    password: str | None,
    as_json: bool,
    quiet: bool,
) -> int:
    """Start BROKER in the background, on loopback; installs it first where necessary.

    It keeps running until `brokerlab down BROKER`, which deletes its data.
    """
    from brokerlab.brokers.registry import broker_named
    from brokerlab.processes import daemon

    front = broker_named(broker)
    directory = started_brokers_directory()
    already = daemon.ask(directory, broker, "status")
    if already is not None:
        _print({**already, "started": False}, as_json)
        return 0
    wanted_nodes, wanted_level = _wanted(broker, front.capabilities, nodes, durability)
    security = demanded_security(broker, front.capabilities, tls, user, password)
    with listening(quiet) as say:
        if not front.installation().installed:
            say.stage(f"installing {broker}")
            front.install(lambda what, done: say.progress(done, what))
        say.stage(f"starting {broker} ({wanted_nodes} node{'s' if wanted_nodes > 1 else ''}, {wanted_level})")
        plan: dict[str, Any] = {"broker": broker, "nodes": wanted_nodes, "durability": wanted_level}
        plan |= {"directory": str(directory), "security": security.model_dump() if security is not None else None}
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


def demanded_security(
    broker: str, capabilities: Any, tls: bool, user: str | None, password: str | None
) -> Security | None:
    """What the servers are to demand, checked: the password can be had, and the broker can do it. An error never
    repeats a password."""
    from brokerlab.errors import UserError
    from brokerlab.model.plan import Security
    from brokerlab.secrets import secret
    from brokerlab.workload.fields import USER_PATTERN

    if (user is None) != (password is None):
        raise UserError("--user and --password go together", hint="for example --user lab --password env:LAB_PASSWORD")
    if not tls and user is None:
        return None
    if user is not None and re.fullmatch(USER_PATTERN, user) is None:
        raise UserError("--user wants a name of letters, digits and . _ - @", hint="for example --user lab")
    if password is not None:
        secret(password)
        if password.startswith("file:"):
            password = f"file:{Path(password.removeprefix('file:')).expanduser().absolute()}"
    wanted = Security(tls=tls, user=user, password=password)
    if not set(wanted.asks()) <= set(capabilities.security):
        has = ", ".join(capabilities.security) or "neither TLS nor passwords"
        raise UserError(f"{broker} cannot be asked for {wanted.words()}", hint=f"it has {has} here")
    return wanted


def _print(status: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(status)
        return
    if not status["started"]:
        click.echo(f"{status['broker']} is up already")
    for line in status_lines(status):
        click.echo(line)
    click.echo(f"use it:   brokerlab run FILE {' '.join(use_flags(status))}")
    click.echo(f"stop it:  brokerlab down {status['broker']}")
