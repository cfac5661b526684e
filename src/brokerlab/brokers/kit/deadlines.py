"""Deadlines on the monotonic clock."""

from __future__ import annotations

import time


def seconds_until(deadline_mono_ns: int, least: float = 0.0) -> float:
    """What is left, and not less than `least`."""
    return max((deadline_mono_ns - time.monotonic_ns()) / 1e9, least)
