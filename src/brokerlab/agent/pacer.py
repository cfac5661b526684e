"""The clock, absolute sleeping and waiting for sockets: in C where the library is there, else through libc directly."""

from __future__ import annotations

import ctypes
import os
import platform
import time
from collections.abc import Callable, Sequence

from brokerlab.native import library

_PR_SET_TIMERSLACK = 29
_SCHED_SETATTR = {"x86_64": 314, "aarch64": 274}  # system call numbers
SLICE_NS = 100_000
_CLOCK_MONOTONIC, _TIMER_ABSTIME = 1, 1


class _Timespec(ctypes.Structure):
    _fields_ = (("seconds", ctypes.c_int64), ("nanoseconds", ctypes.c_int64))


class _Polled(ctypes.Structure):
    """struct pollfd."""

    _fields_ = (("file", ctypes.c_int), ("wanted", ctypes.c_short), ("came", ctypes.c_short))


class _SchedulerAttributes(ctypes.Structure):
    """struct sched_attr of the kernel."""

    _fields_ = (
        ("size", ctypes.c_uint32),
        ("policy", ctypes.c_uint32),
        ("flags", ctypes.c_uint64),
        ("nice", ctypes.c_int32),
        ("priority", ctypes.c_uint32),
        ("runtime", ctypes.c_uint64),
        ("deadline", ctypes.c_uint64),
        ("period", ctypes.c_uint64),
    )


def prepare_pacing() -> None:
    """Ask the kernel to wake this thread when it should.

    The default timer slack of 50 µs would be half of our lateness. A short time slice (Linux 6.12 and later; no
    privilege needed) lets a thread that sleeps most of the time run at once when it wakes on a busy core, for no larger
    share of it; where the kernel does not know it nothing changes.
    """
    libc = ctypes.CDLL(None)
    libc.prctl(_PR_SET_TIMERSLACK, 1, 0, 0, 0)
    call = _SCHED_SETATTR.get(platform.machine())
    if call is not None:
        wanted = _SchedulerAttributes(nice=os.nice(0), runtime=SLICE_NS)
        wanted.size = ctypes.sizeof(wanted)
        libc.syscall(call, 0, ctypes.byref(wanted), 0)


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


def waiter() -> Callable[[Sequence[tuple[int, int]], int], int]:
    """A function that waits until one of these sockets is ready for its events (select.POLLIN, POLLOUT), or a monotonic
    time in nanoseconds, and returns the time it is then. Python's own calls know milliseconds, or file numbers below
    1024."""
    libc = ctypes.CDLL(None)
    limit = _Timespec()

    def wait(watched: Sequence[tuple[int, int]], until_ns: int) -> int:
        polled = (_Polled * len(watched))(*[_Polled(number, events) for number, events in watched])
        limit.seconds, limit.nanoseconds = divmod(max(until_ns - time.monotonic_ns(), 0), 1_000_000_000)
        libc.ppoll(polled, ctypes.c_ulong(len(watched)), ctypes.byref(limit), None)
        return time.monotonic_ns()

    return wait
