"""The clock and absolute sleeping: in C where the library is there, else through libc directly."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable

from brokerlab.native import library

_PR_SET_TIMERSLACK = 29
_CLOCK_MONOTONIC, _TIMER_ABSTIME = 1, 1


class _Timespec(ctypes.Structure):
    _fields_ = (("seconds", ctypes.c_int64), ("nanoseconds", ctypes.c_int64))


def prepare_pacing() -> None:
    """Ask the kernel to wake this thread when it should: the default slack of 50 µs would be half of our lateness."""
    ctypes.CDLL(None).prctl(_PR_SET_TIMERSLACK, 1, 0, 0, 0)


def sleeper() -> Callable[[int], int]:
    """A function that sleeps until a monotonic time in nanoseconds (or a signal) and returns the time it is then."""
    lib = library()
    if lib is not None:
        native: Callable[[int], int] = lib.bl_sleep_until
        return native
    libc = ctypes.CDLL(None)
    at = _Timespec()

    def sleep_until(mono_ns: int) -> int:
        at.seconds, at.nanoseconds = divmod(mono_ns, 1_000_000_000)
        libc.clock_nanosleep(_CLOCK_MONOTONIC, _TIMER_ABSTIME, ctypes.byref(at), None)
        return time.monotonic_ns()

    return sleep_until
