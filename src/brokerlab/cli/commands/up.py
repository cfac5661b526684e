"""brokerlab up BROKER"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from brokerlab.cli import options
from brokerlab.cli.progress import listening
from brokerlab.cli.started_brokers import status_lines, use_flags
from brokerlab.cli.text import print_json

if TYPE_CHECKING:
    from brokerlab.model.plan import Security


@click.command()
@options.broker_name
@click.option("--nodes", type=click.IntRange(min=1), help="Cluster size (default: the smallest the broker has).")
@click.option("--durability", metavar="L1|L2|L3|L4", help="Durability level (default: the weakest at that size).")
@click.option("--tls", is_flag=True, help="Connections must be encrypted; a certificate is made.")
@click.option("--user", help="The user who may log in; needs --password.")
@click.option("--password", metavar="env:NAME|file:PATH", help="Where the password is; never the password itself.")
@click.option("--set", "given", multiple=True, metavar="NAME=VALUE", help="A broker setting, as in a workload's broker_settings. Repeatable.")  # fmt: skip
@options.as_json
@options.quiet
def command(
    broker: str,
    nodes: int | None,
    durability: str | None,
    tls: bool,
    user: str | None,
    password: str | None,
    given: tuple[str, ...],
    as_json: bool,
    quiet: bool,
) -> int:
    """Start BROKER in the background, on loopback; installs it first where necessary.

    It keeps running until `brokerlab down BROKER`, which deletes its data.
    """
    from brokerlab import background

    security = required_security(tls, user, password)
    settings = _settings(given)
    with listening(quiet) as listener:
        status = background.up(
            broker, nodes=nodes, durability=durability, security=security, settings=settings, listener=listener
        )
    _print(status, as_json)
    return 0


def _settings(given: tuple[str, ...]) -> dict[str, str]:
    from brokerlab.errors import UserError

    for text in given:
        if not text.partition("=")[0] or "=" not in text:
            raise UserError(f"--set must be NAME=VALUE, got {text!r}", hint="for example --set num.io.threads=4")
    return {name: value for name, _, value in (text.partition("=") for text in given)}


def required_security(tls: bool, user: str | None, password: str | None) -> Security | None:
    """What the servers will require. The password must exist already. An error never repeats a password."""
    from brokerlab.errors import UserError
    from brokerlab.model.plan import Security
    from brokerlab.secrets import secret
    from brokerlab.workload.fields import USER_PATTERN

    if (user is None) != (password is None):
        raise UserError(
            "--user and --password must be given together", hint="for example --user lab --password env:LAB_PASSWORD"
        )
    if not tls and user is None:
        return None
    if user is not None and re.fullmatch(USER_PATTERN, user) is None:
        raise UserError("--user must be a name of letters, digits and . _ - @", hint="for example --user lab")
    if password is not None:
        secret(password)
        if password.startswith("file:"):
            password = f"file:{Path(password.removeprefix('file:')).expanduser().absolute()}"
    return Security(tls=tls, user=user, password=password)


def _print(status: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(status)
        return
    if not status["started"]:
        click.echo(f"{status['broker']} is already up")
    for line in status_lines(status):
        click.echo(line)
    click.echo(f"use it:   brokerlab run FILE {' '.join(use_flags(status))}")
    click.echo(f"stop it:  brokerlab down {status['broker']}")
