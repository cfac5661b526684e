"""Signals that ask the program to end."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

AGAIN_S = 0.05


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
        with _swallowed_signals_come_again():
            yield came
    finally:
        for s, handler in before.items():
            signal.signal(s, handler)


@contextmanager
def _swallowed_signals_come_again() -> Iterator[None]:
    """Python prints and forgets what is raised in a finalizer, a weak reference's callback or while a process is forked:
    a Ctrl-C at such a moment would be lost. It is sent again a moment later."""
    before = sys.unraisablehook
    main_thread = threading.get_ident()

    def send_again(unraisable: sys.UnraisableHookArgs) -> None:
        if isinstance(unraisable.exc_value, KeyboardInterrupt):
            threading.Timer(AGAIN_S, signal.pthread_kill, (main_thread, signal.SIGINT)).start()
        else:
            before(unraisable)

    sys.unraisablehook = send_again
    try:
        yield
    finally:
        sys.unraisablehook = before
