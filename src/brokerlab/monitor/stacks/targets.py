"""What a stack is pointed at: addresses that the user gives, checked before anything starts."""

from __future__ import annotations

import re
import socket
from collections.abc import Sequence
from dataclasses import dataclass

from brokerlab.errors import UserError

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True)
class Target:
    """An address and the name under which its series appear."""

    name: str
    host: str
    port: int

    @property
    def address(self) -> str:
        return f"{self.host}:{self.port}"


def parse_targets(option: str, given: Sequence[str]) -> list[Target]:
    """[NAME=]HOST:PORT each; without a name it is the address with `_`. Raises UserError for the first that is wrong."""
    targets = [_parsed(option, text) for text in given]
    names = [t.name for t in targets]
    for name in names:
        if names.count(name) > 1:
            raise UserError(f"{option}: two targets are called {name!r}", hint="names must differ: NAME=HOST:PORT")
    return targets


def _parsed(option: str, text: str) -> Target:
    name, equals, address = text.rpartition("=")
    host, colon, port = address.rpartition(":")
    if not colon or not host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise UserError(
            f"{option}: must be [NAME=]HOST:PORT, got {text!r}", hint=f"for example {option} node-1=127.0.0.1:9999"
        )
    if equals and _NAME.fullmatch(name) is None:
        raise UserError(
            f"{option}: a name must be of letters, digits, _ and -, got {name!r}",
            hint="it becomes a part of the names of series, where a dot begins a new part",
        )
    return Target(name or re.sub(r"[^A-Za-z0-9_-]", "_", address), host.strip("[]"), int(port))


def check_reachable(option: str, targets: Sequence[Target]) -> None:
    """Raises UserError for an address at which nothing listens."""
    for target in targets:
        try:
            socket.create_connection((target.host, target.port), timeout=5.0).close()
        except OSError as e:
            raise UserError(
                f"{option}: {target.address} ({target.name}) does not answer: {e.strerror or e}",
                hint="start the program first, and give the port that it listens on",
            ) from None
