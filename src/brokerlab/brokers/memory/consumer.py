"""Receiving: credit out, frames of messages in."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import cast

import numpy as np
import numpy.typing as npt

from brokerlab.brokers.kit.reconnecting import ReconnectingConsumer
from brokerlab.brokers.memory.connection import MemoryLink
from brokerlab.brokers.memory.protocol import (
    ACKNOWLEDGE,
    CONTROL,
    COUNT,
    CREDIT,
    DELIVER,
    DELIVER_HEAD,
    DELIVERED_RUN,
    POSITION_RANGE,
    frame,
)
from brokerlab.model.blocks import Bytes, Deliveries, Int32s, Int64s
from brokerlab.model.plan import AgentPlan

CREDIT_MESSAGES = 8192  # most that may be under way to us


@dataclass
class _Arrived:
    """The messages of one DELIVER frame that were not handed out yet: from number `at` on."""

    buffer: Bytes
    starts: Int64s
    lengths: Int32s
    partitions: Int64s
    positions: Int64s
    redelivered: npt.NDArray[np.uint8]
    arrived_mono_ns: int
    at: int = 0

    @classmethod
    def from_body(cls, body: bytes, now_ns: int) -> _Arrived:
        run_count, n = DELIVER_HEAD.unpack_from(body)
        at = DELIVER_HEAD.size
        runs = np.frombuffer(body, DELIVERED_RUN, run_count, at)
        at += runs.nbytes
        lengths = np.frombuffer(body, "<i4", n, at)
        at += lengths.nbytes
        # Eight bytes behind the last message let checksums read whole words.
        buffer = np.frombuffer(body + bytes(8), np.uint8)
        counts = runs["count"]
        before = np.cumsum(counts) - counts
        ends = np.cumsum(lengths, dtype=np.int64) + at
        return cls(
            buffer=buffer,
            starts=ends - lengths,
            lengths=lengths,
            partitions=np.repeat(runs["partition"], counts).astype(np.int64),
            positions=np.repeat(runs["first"] - before, counts) + np.arange(n, dtype=np.int64),
            redelivered=np.repeat(runs["redelivered"], counts).astype(np.uint8),
            arrived_mono_ns=now_ns,
        )

    def cut(self, most: int) -> Deliveries:
        part = slice(self.at, min(self.at + most, len(self.lengths)))
        self.at = part.stop
        return Deliveries(
            addresses=self.starts[part].astype(np.uint64) + np.uint64(self.buffer.ctypes.data),
            lengths=self.lengths[part],
            arrived_mono_ns=self.arrived_mono_ns,
            positions=self.positions[part],
            redelivered=self.redelivered[part],
            buffer=self.buffer,
            token=(self.partitions[part], self.positions[part]),
        )


class MemoryConsumer(ReconnectingConsumer[MemoryLink, _Arrived]):
    """See brokers.contract.Consumer."""

    path = "python (numpy frames)"
    link_class = MemoryLink

    def __init__(self, plan: AgentPlan, number: int) -> None:
        super().__init__(plan, number)
        self._plan = plan
        self._start_reading()

    def _begin(self, link: MemoryLink) -> None:
        link.on_frame = self._on_frame
        link.subscribe(self._plan.destinations, self._plan.partitions, self._group)
        link.write(frame(CREDIT, COUNT.pack(CREDIT_MESSAGES)))

    def _on_frame(self, kind: int, body: bytes) -> None:
        if kind == DELIVER:
            self._arrived.append(_Arrived.from_body(body, time.monotonic_ns()))

    def _hand_out(self, most: int) -> Deliveries:
        first = self._arrived[0]
        deliveries = first.cut(most)
        if first.at == len(first.lengths):
            self._arrived.popleft()
        self._write(frame(CREDIT, COUNT.pack(len(deliveries))))
        if self._automatic:
            self._acknowledge(deliveries)
        return deliveries

    def acknowledge(self, deliveries: Deliveries) -> None:
        if not self._automatic:
            self._acknowledge(deliveries)

    def _acknowledge(self, deliveries: Deliveries) -> None:
        if len(deliveries) == 0:
            return
        partitions, positions = cast(tuple[Int64s, Int64s], deliveries.token)
        edges = np.flatnonzero((np.diff(positions) != 1) | (np.diff(partitions) != 0))
        firsts = np.append(0, edges + 1)
        lasts = np.append(edges, len(positions) - 1)
        ranges = np.empty(len(firsts), POSITION_RANGE)
        ranges["partition"] = partitions[firsts]
        ranges["first"] = positions[firsts]
        ranges["last"] = positions[lasts]
        self._write(frame(ACKNOWLEDGE, ranges.tobytes()))

    def _write(self, data: bytes) -> None:
        try:
            if self._link is not None:
                self._link.write(data)
        except OSError:
            self._lose()

    def remaining(self) -> int | None:
        if self._link is None:
            return None
        try:
            return int(self._link.call(CONTROL, {"do": "backlog"})["backlog"])
        except OSError:
            self._lose()
            return None
