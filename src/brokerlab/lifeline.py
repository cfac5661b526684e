"""What ties a child's life to its parent's."""

from __future__ import annotations

import ctypes
import os
import signal
from collections.abc import Callable, Collection
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from concurrent.futures import Executor

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)
_forker = os.getpid()


def _note_forker() -> None:
    global _forker
    _forker = os.getpid()


os.register_at_fork(before=_note_forker)


def die_with_parent(signal_number: int = signal.SIGKILL) -> None:
    """In a child, between fork and exec: the kernel sends us `signal_number` when the parent's thread ends.

    Survives exec. Start children from the main thread, or by `from_lasting_thread`: the signal follows the *thread* that
    forked. A parent that is process 1 (the first program of a container) is a parent like any other.
    """
    _libc.prctl(_PR_SET_PDEATHSIG, signal_number, 0, 0, 0)
    if os.getppid() != _forker:  # it went before the kernel knew whom to tell
        os._exit(1)


def end_with_parent(cores: Collection[int] = ()) -> None:
    """As die_with_parent, with SIGTERM: for children that save something first. With `cores`, the child and all it starts
    run on these only."""
    die_with_parent(signal.SIGTERM)
    if cores:
        os.sched_setaffinity(0, cores)


@cache
def _lasting_thread() -> Executor:
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(1, "starts-children")


def from_lasting_thread(start: Callable[[], None]) -> None:
    """For a thread that ends before the children it starts should: calls `start` in one that lives as long as this process,
    and returns or raises as it does."""
    _lasting_thread().submit(start).result()
