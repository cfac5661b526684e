"""Loopback for servers that listen on all interfaces and have no setting against it."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterable
from pathlib import Path

from brokerlab.errors import BrokerError
from brokerlab.native.build import compiled

ELSEWHERE = "127.0.0.2"  # what listens on all interfaces answers here too, what listens on 127.0.0.1 does not
_CONNECT_S = 1.0


def loopback_environment() -> dict[str, str]:
    """For a server's process: sockets that it binds to all interfaces are bound to 127.0.0.1. Raises MachineError where
    there is no C compiler to make the library with."""
    return {"LD_PRELOAD": str(compiled("loopback", [Path(__file__).with_name("loopback.c")]))}


def check_closed(ports: Iterable[int]) -> None:
    """That none of these ports is reached but by 127.0.0.1. Raises BrokerError."""
    for port in ports:
        with contextlib.suppress(OSError), socket.create_connection((ELSEWHERE, port), _CONNECT_S):
            raise BrokerError(f"port {port} is open beyond 127.0.0.1", hint="use a dynamically linked Java on Linux")
