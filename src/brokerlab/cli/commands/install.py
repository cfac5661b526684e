"""brokerlab install BROKER|all"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import click

from brokerlab.cli import options
from brokerlab.cli.progress import listening
from brokerlab.cli.text import print_json
from brokerlab.errors import BrokerlabError, EndpointOnlyError, ExitCode

if TYPE_CHECKING:
    from brokerlab.brokers.contract import Installation

ALL = "all"


@click.command()
@options.broker_name
@options.as_json
@options.quiet
def command(broker: str, as_json: bool, quiet: bool) -> int:
    """Fetch BROKER (or `all`) into the cache, verify and unpack it. Does nothing where it is already installed."""
    if broker == ALL:
        return _install_all(quiet, as_json)
    installation = _install(broker, quiet)
    if as_json:
        print_json({"broker": broker, **dataclasses.asdict(installation)})
    else:
        click.echo(_line(broker, installation))
    return 0


def _install(name: str, quiet: bool) -> Installation:
    from brokerlab import lab

    with listening(quiet) as listener:
        return lab.install(name, listener=listener)


def _install_all(quiet: bool, as_json: bool) -> int:
    """A broker that cannot be installed does not stop the others: it is listed with the reason, and the exit code is 3,
    unless it is never installed."""
    from brokerlab.brokers.registry import BROKERS

    rows: list[dict[str, Any]] = []
    lines: list[str] = []
    failed = False
    for name in BROKERS:
        try:
            installation = _install(name, quiet)
        except BrokerlabError as e:
            failed = failed or not isinstance(e, EndpointOnlyError)
            rows.append({"broker": name, "installed": False, "reason": e.message})
            lines.append(f"{name}: not installed: {e.message}" + (f" ({e.hint})" if e.hint else ""))
            continue
        rows.append({"broker": name, **dataclasses.asdict(installation)})
        lines.append(_line(name, installation))
    if as_json:
        print_json(rows)
    else:
        click.echo("\n".join(lines))
    return int(ExitCode.MACHINE if failed else ExitCode.OK)


def _line(name: str, installation: Installation) -> str:
    where = f" in {installation.location}" if installation.location else ""
    line = f"{name} {installation.version}: installed{where}"
    return line if installation.runs_here else f"{line}\n  but it does not run here: {installation.reason}"
