"""The processes a server has started itself, where each is in a session of its own so that its group does not name them."""

from __future__ import annotations

import contextlib
import time

import psutil

from brokerlab.errors import BrokerError
from brokerlab.processes.process import ServerProcess


def children_of(process: ServerProcess) -> list[psutil.Process]:
    """Ask before it ends: afterwards they have another parent."""
    if process.is_running():
        with contextlib.suppress(psutil.NoSuchProcess):
            return psutil.Process(process.pid).children(recursive=True)
    return []


def end_all(children: list[psutil.Process], seconds: float) -> None:
    """They end by themselves when the server is gone, but not at once; psutil never signals a reused pid. Raises
    BrokerError for those that do not end in time."""
    for one in children:
        with contextlib.suppress(psutil.NoSuchProcess):
            one.kill()
    until = time.monotonic() + seconds
    while any(map(_is_alive, children)):
        if time.monotonic() > until:
            raise BrokerError(f"processes of a server do not end: {[one.pid for one in children if _is_alive(one)]}")
        time.sleep(0.01)


def _is_alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
