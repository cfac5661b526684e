"""Loopback ports that are ours until a server listens there, and whether a program listens at an address."""

from __future__ import annotations

import errno
import socket
import weakref
from collections.abc import Iterable, Sequence

from brokerlab.errors import MachineError

_TRIES = 100


class HeldPorts:
    """`count` different ports of 127.0.0.1 that only our servers get as long as this object lives.

    A server may take seconds until it listens, and longer when it is started again. So each port is bound here all the
    time: the kernel gives it to no connection and to no other program that asks for a free one. As our socket is
    allowed to share and never listens, Linux lets a server bind it too that sets SO_REUSEADDR, as servers do.
    """

    def __init__(self, count: int, also_below: int = 0) -> None:
        """With `also_below`, the port so many below each is held too, for servers that take that one without being asked."""
        sockets: list[socket.socket] = []
        release = weakref.finalize(self, _close, sockets)
        try:
            for _ in range(count):
                sockets.extend(_hold_two(also_below) if also_below else [_hold()])
        except OSError as error:
            release()
            raise MachineError(
                f"{count} free ports are needed on 127.0.0.1, and after {len(sockets)} of them: {error.strerror}",
                hint="`ss -tanp` lists the programs that hold ports; `ulimit -n` shows how many files a process may open",
            ) from None
        named = sockets[:: 2 if also_below else 1]
        self.numbers: Sequence[int] = [held.getsockname()[1] for held in named]


def _hold_two(distance: int) -> list[socket.socket]:
    """A port, and the one that is `distance` below it."""
    for _ in range(_TRIES):
        first = _hold()
        try:
            return [first, _hold(first.getsockname()[1] - distance)]
        except OSError:
            first.close()
    raise OSError(errno.EADDRINUSE, f"no two ports with {distance} between them")


def _hold(port: int = 0) -> socket.socket:
    held = socket.socket()
    try:
        held.bind(("127.0.0.1", port))  # alone; only then may a server share it
    except OSError:
        held.close()
        raise
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    return held


def _close(sockets: list[socket.socket]) -> None:
    for held in sockets:
        held.close()


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
