"""Free loopback ports, and whether anybody listens at an address."""

from __future__ import annotations

import random
import socket
from collections.abc import Iterable
from pathlib import Path

from brokerlab.cluster.cache import entry, exclusive, write_whole
from brokerlab.errors import MachineError

_FIRST, _LAST = 20_000, 65_535
_FEWEST = 1_000  # of fewer, one would come again too soon


def free_ports(count: int) -> list[int]:
    """`count` different ports that are free on 127.0.0.1 and that nobody gets by chance before a server listens there.

    A server may take seconds until it does. So they are none of those the kernel gives to connections, and they are
    handed out in turn, over all processes that share a cache: a port comes again when all others have been used.
    """
    ports = _candidates()
    last = entry("last-port")
    with exclusive(last):
        start = _after(last, ports)
        found: list[int] = []
        for port in ports[start:] + ports[:start]:
            if _can_be_bound(port):
                found.append(port)
            if len(found) == count:
                write_whole(last, str(port).encode())
                return found
    raise MachineError(
        f"{count} free ports are needed on 127.0.0.1, and of {ports[0]} to {ports[-1]} only {len(found)} are free",
        hint="end programs that listen there: ss -ltnp lists them",
    )


def _candidates() -> list[int]:
    """All we may use; where the kernel gives nearly every one of them to connections, those too."""
    every = range(_FIRST, _LAST + 1)
    try:
        low, high = map(int, Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split())
    except (OSError, ValueError):
        return list(every)
    apart = [port for port in every if not low <= port <= high]
    return apart if len(apart) >= _FEWEST else list(every)


def _after(last: Path, ports: list[int]) -> int:
    """Where to go on; anywhere, so that two new caches do not meet, when nothing is known."""
    try:
        return ports.index(int(last.read_text())) + 1
    except (OSError, ValueError):
        return random.randrange(len(ports))


def _can_be_bound(port: int) -> bool:
    with socket.socket() as s:
        try:
            s.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


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
