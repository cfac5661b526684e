"""From a command's options to a RunPlan: the options `plan`, `run` and `demo` share, and how their values are read."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from brokerlab.errors import UserError

if TYPE_CHECKING:
    from brokerlab.model.plan import Endpoint, RunPlan

Command = TypeVar("Command", bound=Callable[..., Any])

_OPTIONS = (
    click.option("--set", "overrides", multiple=True, metavar="PATH=VALUE", help="Change a field of the workload; repeatable."),
    click.option("--broker", "brokers", metavar="NAME[,NAME]|all", help="Run on these brokers instead of the workload's; all: every broker that runs here and can do what is asked."),
    click.option("--repeats", type=click.IntRange(min=1), help="How often every cell is run."),
    click.option("--tag", help="A word to find the run by; another tag makes another run."),
    click.option(
        "--endpoint",
        "endpoints",
        multiple=True,
        metavar="BROKER=HOST:PORT[,HOST:PORT]",
        help="Use a broker you run: brokerlab starts and stops nothing, and deletes only destinations it created. BROKER.OPTION=VALUE sets an option of the endpoint.",
    ),
)  # fmt: skip


def planning_options(command: Command) -> Command:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def plan_from(
    source: str,
    overrides: tuple[str, ...],
    brokers: str | None,
    repeats: int | None,
    tag: str | None,
    endpoints: tuple[str, ...],
) -> RunPlan:
    """The checked plan. `source` is a workload file or the name of a shipped one."""
    from brokerlab import lab

    return lab.plan(
        source,
        overrides=overrides,
        brokers=broker_names(brokers),
        repeats=repeats,
        tag=tag,
        endpoints=given_endpoints(endpoints),
    )


def broker_names(given: str | None) -> tuple[str, ...] | None:
    """Names joined by commas as names that exist, or "all"; None when nothing was given."""
    if given is None:
        return None
    from brokerlab.brokers.registry import BROKERS, broker_named

    names = tuple(n.strip() for n in given.split(",") if n.strip())
    if not names:
        raise UserError("--broker names no broker", hint=f"for example --broker {','.join(list(BROKERS)[:2])}")
    if "all" in names and len(set(names)) > 1:
        raise UserError(
            "--broker all must stand alone", hint="it means every broker that runs here and can do what is asked"
        )
    for name in names:
        if name != "all":
            broker_named(name)
    return names


def given_endpoints(given: tuple[str, ...]) -> dict[str, Endpoint]:
    """NAME=host:9092,host:9093 -> {NAME: Endpoint}; NAME.web=... adds an option to that broker's."""
    from brokerlab.brokers.registry import broker_named
    from brokerlab.model.plan import Endpoint

    addresses: dict[str, tuple[str, ...]] = {}
    options: dict[str, dict[str, str]] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if "@" in text:  # user:password@host: not to be repeated
            hint = "user and password go under `security`, the password as env:NAME or file:PATH"
            raise UserError(f"--endpoint {name if equals else ''}: an address is HOST:PORT, without a user", hint=hint)
        if not equals:
            raise UserError(f"--endpoint {text!r} names no broker", hint="write it as BROKER=127.0.0.1:9092")
        name, dot, option = name.partition(".")
        offered = broker_named(name).capabilities.endpoint_options
        if not dot:
            addresses[name] = tuple(_address(a.strip(), text) for a in value.split(","))
            continue
        if option not in offered or not value:
            known = "; ".join(f"{name}.{o}={meaning}" for o, meaning in offered.items()) or "it has no options"
            wrong = f"{name} has no option {option!r}" if option not in offered else "the value is missing"
            raise UserError(f"--endpoint {text!r}: {wrong}", hint=known)
        options.setdefault(name, {})[option] = value
    for name in options:
        if name not in addresses:
            raise UserError(
                f"--endpoint {name}: options without an address", hint=f"give --endpoint {name}=HOST:PORT as well"
            )
    return {name: Endpoint(addresses=a, options=options.get(name, {})) for name, a in addresses.items()}


def _address(text: str, whole: str) -> str:
    host, colon, port = text.rpartition(":")
    if not (colon and host and port.isdigit() and 0 < int(port) < 65536):
        raise UserError(f"--endpoint {whole!r}: {text!r} is not HOST:PORT", hint="write it as BROKER=127.0.0.1:9092")
    return text
