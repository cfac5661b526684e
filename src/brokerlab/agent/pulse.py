"""Did this process run at all? A thread that wakes ten times a second and notes when it woke far too late.

A process that is stopped, or gets no processor, notices nothing in its own loops: the clock just jumps. What the sender
calls lateness, and a consumer nothing at all, has its name here.
"""

from __future__ import annotations

import threading
import time

EVERY_S = 0.1


class Pulse:
    """`take` gives the longest pause since it was last asked, in nanoseconds beyond what was slept on purpose."""

    def __init__(self) -> None:
        self._longest_ns = 0
        self._lock = threading.Lock()
        self._ended = threading.Event()
        threading.Thread(target=self._beat, name="pulse", daemon=True).start()

    def _beat(self) -> None:
        every_ns = round(EVERY_S * 1e9)
        before_ns = time.monotonic_ns()
        while not self._ended.wait(EVERY_S):
            now_ns = time.monotonic_ns()
            with self._lock:
                self._longest_ns = max(self._longest_ns, now_ns - before_ns - every_ns)
            before_ns = now_ns

    def take(self) -> int:
        with self._lock:
            longest_ns, self._longest_ns = self._longest_ns, 0
        return longest_ns

    def close(self) -> None:
        self._ended.set()
