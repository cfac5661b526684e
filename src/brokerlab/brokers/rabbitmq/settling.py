"""What a producer has learnt and not yet reported."""

from __future__ import annotations

import time

import numpy as np
import numpy.typing as npt

from brokerlab.model.blocks import NOTHING_SETTLED, Int64s, Settlements


class Settling:
    """Collects outcomes with the time at which they were learnt."""

    def __init__(self) -> None:
        self._indices: list[Int64s] = []
        self._outcomes: list[npt.NDArray[np.uint8]] = []
        self._at_ns: list[Int64s] = []
        self._errors: dict[str, int] = {}

    def add(self, indices: Int64s, outcome: int, error: str | None = None) -> None:
        n = len(indices)
        if n == 0:
            return
        self._indices.append(indices)
        self._outcomes.append(np.full(n, outcome, np.uint8))
        self._at_ns.append(np.full(n, time.monotonic_ns(), np.int64))
        if error is not None:
            self._errors[error] = self._errors.get(error, 0) + n

    def take(self) -> Settlements:
        if not self._indices:
            return NOTHING_SETTLED
        settled = Settlements(
            np.concatenate(self._indices), np.concatenate(self._outcomes), np.concatenate(self._at_ns), self._errors
        )
        self.__init__()  # type: ignore[misc]
        return settled
