"""Beginning a connection without waiting for it, for clients in C that adopt the socket."""

from __future__ import annotations

import errno
import socket
from collections.abc import Mapping
from typing import Any

Where = tuple[socket.AddressFamily, Any]


def resolved(host: str, port: int) -> Where:
    """The first address of a name; asking for a name may take seconds. Raises OSError."""
    family, _, _, _, found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    return family, found


def dial(where: Where, options: Mapping[int, int] | None = None) -> tuple[int, str]:
    """The number of a socket that connects, for the caller to adopt; or -1 and why it failed at once. `options` are those
    of the socket itself, such as the sizes of its buffers."""
    with socket.socket(where[0], socket.SOCK_STREAM) as made:
        made.setblocking(False)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for option, value in (options or {}).items():
            made.setsockopt(socket.SOL_SOCKET, option, value)
        error = made.connect_ex(where[1])
        if error not in (0, errno.EINPROGRESS):
            return -1, errno.errorcode.get(error, str(error))
        return made.detach(), ""
