"""Processes that only write evidence give way to those that make it."""

from __future__ import annotations

import contextlib
import os


def give_way() -> None:
    """From now on this process runs when it is its turn, but being woken (by a pipe that fills, by a timer) never takes
    the processor from another: not from the agent that has just sent it rows. Needs no privilege."""
    with contextlib.suppress(OSError, AttributeError):  # where there is no such policy, all is as it was
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
