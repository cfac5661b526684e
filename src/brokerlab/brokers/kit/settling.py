"""What a producer has learnt and not yet reported."""

from __future__ import annotations

import time

import numpy as np

from brokerlab.model.blocks import NOTHING_SETTLED, Int64s, Settlements


class Settling:
    """Collects outcomes with the time at which they were learnt, between two calls of `settled`."""

    def __init__(self) -> None:
        self._indices: list[Int64s] = []
        self._outcomes: list[int] = []  # one for each array of `_indices`
        self._at_ns: list[int] = []
        self._single: tuple[list[int], list[int], list[int]] = ([], [], [])  # index, outcome, time of one message each
        self._errors: dict[str, int] = {}

    def add(self, indices: Int64s, outcome: int, error: str | None = None, at_ns: int | None = None) -> None:
        """Messages that share an outcome; `error` is its kind where they were not acknowledged, `at_ns` when that was
        learnt, if not now."""
        if len(indices) == 0:
            return
        self._indices.append(indices)
        self._outcomes.append(outcome)
        self._at_ns.append(time.monotonic_ns() if at_ns is None else at_ns)
        self._count(error, len(indices))

    def add_one(self, index: int, outcome: int, error: str | None = None) -> None:
        """One message, for libraries that tell of each by itself: no array is made for it."""
        indices, outcomes, at_ns = self._single
        indices.append(index)
        outcomes.append(outcome)
        at_ns.append(time.monotonic_ns())
        self._count(error, 1)

    def _count(self, error: str | None, count: int) -> None:
        """A server's own words may have half characters in them, which no file takes."""
        if error is not None:
            kind = error if error.isascii() else error.encode(errors="replace").decode()
            self._errors[kind] = self._errors.get(kind, 0) + count

    def take(self) -> Settlements:
        """Everything collected since the last call."""
        if not self._indices and not self._single[0]:
            return NOTHING_SETTLED
        sizes = [len(indices) for indices in self._indices]
        single = [np.array(column, np.int64) for column in self._single]
        settled = Settlements(
            np.concatenate([*self._indices, single[0]]),
            np.concatenate([np.repeat(np.array(self._outcomes, np.uint8), sizes), single[1].astype(np.uint8)]),
            np.concatenate([np.repeat(np.array(self._at_ns, np.int64), sizes), single[2]]),
            self._errors,
        )
        self.__init__()  # type: ignore[misc]
        return settled
