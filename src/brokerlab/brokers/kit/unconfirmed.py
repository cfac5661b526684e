"""Which messages of a producer are open. Numbers given out by the protocol, in order, stand for message numbers."""

from __future__ import annotations

import numpy as np

from brokerlab.model.blocks import Int64s

_FIRST_SLOTS = 1 << 12


class Unconfirmed:
    """Tags count up from `first_tag`; each is confirmed at most once, alone or with all before it, in any order."""

    def __init__(self, first_tag: int = 1) -> None:
        self._next = self._lowest = first_tag
        self._indices = np.zeros(_FIRST_SLOTS, np.int64)
        self._open = np.zeros(_FIRST_SLOTS, np.bool_)

    def add(self, first_index: int, count: int) -> None:
        """The next `count` tags stand for messages first_index, first_index + 1, ..."""
        self.add_numbers(np.arange(first_index, first_index + count))

    def add_numbers(self, indices: Int64s) -> None:
        """The next tags stand for messages with these numbers."""
        count = len(indices)
        while self._next + count - self._lowest > len(self._open):
            self._grow()
        slots = np.arange(self._next, self._next + count) & (len(self._open) - 1)
        self._indices[slots] = indices
        self._open[slots] = True
        self._next += count

    def _grow(self) -> None:
        tags = np.arange(self._lowest, self._next)
        old = tags & (len(self._open) - 1)
        indices, is_open = self._indices[old], self._open[old]
        size = 2 * len(self._open)
        self._indices, self._open = np.zeros(size, np.int64), np.zeros(size, np.bool_)
        self._indices[tags & (size - 1)], self._open[tags & (size - 1)] = indices, is_open

    def confirm(self, tags: Int64s) -> Int64s:
        """Message numbers of those among these tags that were open."""
        tags = np.unique(tags[(tags >= self._lowest) & (tags < self._next)])
        return self._close(tags & (len(self._open) - 1))

    def confirm_up_to(self, tag: int) -> Int64s:
        """Message numbers of everything open up to and with this tag."""
        return self._close(np.arange(self._lowest, min(tag + 1, self._next)) & (len(self._open) - 1))

    def confirm_all(self) -> Int64s:
        return self.confirm_up_to(self._next)

    def _close(self, slots: Int64s) -> Int64s:
        slots = slots[self._open[slots]]
        self._open[slots] = False
        found = self._indices[slots]
        self._advance()
        return found

    def _advance(self) -> None:
        while self._lowest < self._next:
            # In steps: what is open lies close to the beginning.
            some = np.arange(self._lowest, min(self._lowest + 1024, self._next)) & (len(self._open) - 1)
            still = self._open[some]
            if bool(still.any()):
                self._lowest += int(np.argmax(still))
                return
            self._lowest += len(some)

    def __len__(self) -> int:
        slots = np.arange(self._lowest, self._next) & (len(self._open) - 1)
        return int(self._open[slots].sum())
