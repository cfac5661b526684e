"""Signals that ask the program to end."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def signals_interrupt() -> Iterator[threading.Event]:
    """SIGTERM and SIGHUP end the block as Ctrl-C does, and SIGINT does so even where it was ignored when we started.

    Yields what is set as soon as a signal came: clean-up that fails on the way out may hide the KeyboardInterrupt.
    Only the main thread may say so; in any other this changes nothing.
    """
    came = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield came
        return

    def interrupt(*_: object) -> None:
        came.set()
        raise KeyboardInterrupt

    before = {s: signal.signal(s, interrupt) for s in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        yield came
    finally:
        for s, handler in before.items():
            signal.signal(s, handler)
