"""How many messages a closed loop may send now: what its window has room for, or one batch after the other.

The same as `wanted` of native/sender.c, with the same state.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from brokerlab.model.blocks import Int64s
from brokerlab.model.plan import SchedulePlan

BATCHES = 4096  # sizes drawn; then the same again
NO_LIMIT = 1 << 62


def batch_sizes(schedule: SchedulePlan, seed: int, producer: int) -> Int64s | None:
    """Sizes of the batches of one producer, equally likely from the least to the most; None without batches."""
    if schedule.batch_least is None:
        return None
    assert schedule.window is not None
    random = np.random.default_rng([seed, producer, 3])
    return random.integers(schedule.batch_least, schedule.window, BATCHES, np.int64, endpoint=True)


def room_wanted(window: int) -> int:
    """Messages that must have settled before a window is filled again: blocks, not messages."""
    return max(1, window // 8)


def wanted(state: Any, window: int, sizes: Int64s | None, now_ns: int) -> int:
    """Messages to send now. `state` is a SenderState, or the same in C."""
    left = state.left if now_ns >= state.measure_from_ns else NO_LIMIT
    if sizes is None:
        free = window - state.in_flight
        return min(free, left) if free >= min(room_wanted(window), left) else 0
    if state.batch_left == 0 and state.in_flight == 0 and left > 0:
        state.batch_left = int(sizes[state.batch_at % len(sizes)])
        state.batch_at += 1
    return int(min(state.batch_left, left))


def note_sent(state: Any, sizes: Int64s | None, count: int, now_ns: int) -> None:
    if now_ns >= state.measure_from_ns:
        state.left -= count
    if sizes is not None:
        state.batch_left -= count
