"""What consumers in C have in common on this side: messages come as columns."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from brokerlab.model.blocks import Deliveries
from brokerlab.native.loader import address

RECEIVE_MOST = 8192


class DeliveryColumns:
    """Room for what was received last: where each message lies, its length, its position, whether it comes again."""

    def __init__(self) -> None:
        self._addresses = np.zeros(RECEIVE_MOST, np.uint64)
        self._lengths = np.zeros(RECEIVE_MOST, np.int32)
        self._positions = np.zeros(RECEIVE_MOST, np.int64)
        self._redelivered = np.zeros(RECEIVE_MOST, np.uint8)  # stays so where the broker does not say
        self.pointers = tuple(address(a) for a in (self._addresses, self._lengths, self._positions))
        self.redelivered_pointer = address(self._redelivered)

    def deliveries(
        self, n: int, arrived_mono_ns: int, token: object = None, release: Callable[[], None] | None = None
    ) -> Deliveries:
        """The first n of them."""
        return Deliveries(
            addresses=self._addresses[:n],
            lengths=self._lengths[:n],
            arrived_mono_ns=arrived_mono_ns,
            positions=self._positions[:n],
            redelivered=self._redelivered[:n],
            token=token,
            release=release,
        )
