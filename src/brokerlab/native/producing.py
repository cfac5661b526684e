"""What producers in C have in common on this side: a block goes in, reports come out as columns."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from brokerlab.model.blocks import NOTHING_SETTLED, Block, Int32s, Settlements
from brokerlab.native.loader import address

REPORTS_MOST = 16384
Judged = Callable[[Int32s], tuple[npt.NDArray[np.uint8], dict[str, int]]]


def pointer(function: Any) -> int:
    """The address of a C function, to be called by C."""
    return int(ctypes.cast(function, ctypes.c_void_p).value or 0)


def send_block(function: Any, handle: int | None, block: Block) -> int:
    """Offer a block; how many of its first messages were taken. Keys are 4 bytes each, big-endian."""
    keys = None if block.keys is None else block.keys.astype(">i4")
    taken: int = function(
        handle,
        address(block.buffer),
        address(block.offsets),
        address(block.lengths),
        address(block.partitions),
        None if keys is None else address(keys),
        block.first_index,
        len(block),
    )
    return taken


class Reports:
    """Room for what settled: message number, code (0 is an acknowledgement), time."""

    def __init__(self) -> None:
        self._indices = np.zeros(REPORTS_MOST, np.int64)
        self._codes = np.zeros(REPORTS_MOST, np.int32)
        self._at_ns = np.zeros(REPORTS_MOST, np.int64)
        self._acknowledged = np.zeros(REPORTS_MOST, np.uint8)
        self.columns = (*(address(a) for a in (self._indices, self._codes, self._at_ns)), REPORTS_MOST)

    def settlements(self, n: int, judged: Judged) -> Settlements:
        """The first n of them; none when n is negative. `judged` says what codes other than 0 mean."""
        if n <= 0:
            return NOTHING_SETTLED
        codes = self._codes[:n]
        if not codes.any():
            return Settlements(self._indices[:n], self._acknowledged[:n], self._at_ns[:n])
        outcomes, kinds = judged(codes)
        return Settlements(self._indices[:n], outcomes, self._at_ns[:n], kinds)
