"""Waiting for one socket. By poll: select knows no file numbers above 1023."""

from __future__ import annotations

import select
import socket


def wait_ready(one: socket.socket, seconds: float, *, unsent: bool) -> None:
    """Until it can be read (or written, where something is unsent), `seconds` at most."""
    poll = select.poll()
    poll.register(one, select.POLLIN | (select.POLLOUT if unsent else 0))
    poll.poll(max(0.0, seconds) * 1000)
