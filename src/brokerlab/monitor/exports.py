"""What `--export` says: where readings and load go while they come."""

from __future__ import annotations

import difflib
import ipaddress
import socket
from dataclasses import dataclass
from typing import Literal

from brokerlab.errors import MachineError, UserError
from brokerlab.secrets import secret

Kind = Literal["prometheus", "graphite"]
KINDS: tuple[Kind, ...] = ("prometheus", "graphite")
DEFAULTS: dict[Kind, tuple[str, int]] = {"prometheus": ("127.0.0.1", 9464), "graphite": ("127.0.0.1", 2003)}
EXAMPLE = "prometheus, prometheus=127.0.0.1:9464 or graphite=127.0.0.1:2003, with commas between them"


@dataclass(frozen=True)
class Export:
    """prometheus: an address to listen at, with a token that requests must have. graphite: a carbon to send lines to."""

    kind: Kind
    host: str
    port: int
    token: str | None = None  # env:NAME or file:PATH, looked up in the process that listens

    @property
    def words(self) -> str:
        return f"http://{self.host}:{self.port}/metrics" if self.kind == "prometheus" else f"{self.host}:{self.port}"


def parse_exports(text: str, token: str | None = None) -> tuple[Export, ...]:
    """Of `prometheus[=HOST:PORT],graphite=HOST:PORT`. Raises UserError."""
    return tuple(_parsed(part.strip(), token) for part in text.split(",") if part.strip())


def _parsed(part: str, token: str | None) -> Export:
    name, equals, address = part.partition("=")
    if name not in KINDS:
        near = difflib.get_close_matches(name, KINDS, n=1, cutoff=0.4)
        hint = f"did you mean {near[0]!r}?" if near else f"give {EXAMPLE}"
        raise UserError(f"--export: the kind must be {' or '.join(KINDS)} (got {name!r})", hint=hint)
    kind: Kind = "prometheus" if name == "prometheus" else "graphite"
    host, port = _address(part, address) if equals else DEFAULTS[kind]
    if kind == "prometheus" and not is_loopback(host) and token is None:
        raise UserError(
            f"--export: {host} can be reached from other machines, and no token is given",
            hint="give --export-token env:NAME or file:PATH, or listen at 127.0.0.1",
        )
    return Export(kind, host, port, token if kind == "prometheus" else None)


def _address(part: str, address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit() or not 0 < int(port) < 65536:
        raise UserError(f"--export: the address must be HOST:PORT (got {part!r})", hint=f"give {EXAMPLE}")
    return host.strip("[]"), int(port)


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def check_exports(exports: tuple[Export, ...]) -> None:
    """Raises before anything is started: UserError for a token that stands for nothing, MachineError for an address that
    cannot be listened at."""
    for export in exports:
        if export.token is not None:
            secret(export.token)
        if export.kind == "prometheus":
            try:
                listening_socket(export).close()
            except OSError as error:
                raise MachineError(
                    f"--export: nothing can listen at {export.host}:{export.port}: {error.strerror or error}",
                    hint="end the program that does, or give another port: --export prometheus=127.0.0.1:PORT",
                ) from error


def listening_socket(export: Export) -> socket.socket:
    """Raises OSError."""
    family = socket.AF_INET6 if ":" in export.host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((export.host, export.port))
        made.listen(16)
    except OSError:
        made.close()
        raise
    return made
