"""Free loopback ports, and whether anybody listens at an address."""

from __future__ import annotations

import socket
from collections.abc import Iterable
from contextlib import ExitStack


def free_ports(count: int) -> list[int]:
    """`count` different ports that were free on 127.0.0.1 a moment ago, all held at once while choosing."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for s in sockets:
            s.bind(("127.0.0.1", 0))
        return [s.getsockname()[1] for s in sockets]


def all_refuse(addresses: Iterable[str]) -> bool:
    """Whether every `host:port` refuses connections: then no client needs to be patient. An address that does not
    answer, or whose name is not known, is no such case."""
    return all(_refuses(*address.rsplit(":", 1)) for address in addresses)


def _refuses(host: str, port: str) -> bool:
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=1.0).close()
    except ConnectionRefusedError:
        return True
    except (OSError, ValueError):
        return False
    return False
