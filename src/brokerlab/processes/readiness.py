"""Waiting for a condition with a deadline; never a bare sleep."""

from __future__ import annotations

import time
from collections.abc import Callable

from brokerlab.errors import BrokerDiedError, NotReadyError


def wait_until(
    what: str,
    condition: Callable[[], bool],
    deadline_mono_ns: int,
    *,
    died: Callable[[], tuple[str, ...]],
    log_tail: Callable[[], str],
    every_s: float = 0.1,
) -> None:
    """Poll `condition` until it holds. It may raise OSError or return False for "not yet"."""
    last: OSError | None = None
    while True:
        dead = died()
        if dead:
            raise BrokerDiedError(f"{', '.join(dead)} ended while waiting for: {what}\nlast log lines:\n{log_tail()}")
        try:
            if condition():
                return
        except OSError as e:
            last = e
        if time.monotonic_ns() >= deadline_mono_ns:
            said = f" (last error: {last})" if last else ""
            raise NotReadyError(f"not ready in time: {what}{said}\nlast log lines:\n{log_tail()}")
        time.sleep(every_s)
