"""Receiving: credit out, frames of messages in."""

from __future__ import annotations

import time
from typing import cast

import numpy as np

from brokerlab.brokers.kit.arrived import Arrived, readable, starts_of
from brokerlab.brokers.kit.reconnecting import ReconnectingConsumer
from brokerlab.brokers.memory import protocol
from brokerlab.brokers.memory.connection import MemoryLink
from brokerlab.brokers.memory.protocol import frame
from brokerlab.model.blocks import Deliveries, Int64s
from brokerlab.model.plan import AgentPlan

CREDIT_MESSAGES = 8192  # most that may be under way to us


def arrived(body: bytes, now_ns: int) -> Arrived:
    """The messages of one protocol.DELIVER frame; acknowledged by partition and position."""
    run_count, n = protocol.DELIVER_HEAD.unpack_from(body)
    at = protocol.DELIVER_HEAD.size
    runs = np.frombuffer(body, protocol.DELIVERED_RUN, run_count, at)
    at += runs.nbytes
    lengths = np.frombuffer(body, "<i4", n, at)
    counts = runs["count"]
    before = np.cumsum(counts) - counts
    return Arrived(
        buffer=readable(body),
        starts=starts_of(lengths) + at + lengths.nbytes,
        lengths=lengths,
        positions=np.repeat(runs["first"] - before, counts) + np.arange(n, dtype=np.int64),
        redelivered=np.repeat(runs["redelivered"], counts).astype(np.uint8),
        numbers=np.repeat(runs["partition"], counts).astype(np.int64),
        at_mono_ns=now_ns,
    )


class MemoryConsumer(ReconnectingConsumer[MemoryLink, Arrived]):
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
        link.write(frame(protocol.CREDIT, protocol.COUNT.pack(CREDIT_MESSAGES)))

    def _on_frame(self, kind: int, body: bytes) -> None:
        if kind == protocol.DELIVER:
            self._arrived.append(arrived(body, time.monotonic_ns()))

    def _hand_out(self, most: int) -> Deliveries:
        some, rest = self._arrived.popleft().split(most)
        if rest is not None:
            self._arrived.appendleft(rest)
        deliveries = some.deliveries((some.numbers, some.positions))
        self._write(frame(protocol.CREDIT, protocol.COUNT.pack(len(deliveries))))
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
        ranges = np.empty(len(firsts), protocol.POSITION_RANGE)
        ranges["partition"] = partitions[firsts]
        ranges["first"] = positions[firsts]
        ranges["last"] = positions[lasts]
        self._write(frame(protocol.ACKNOWLEDGE, ranges.tobytes()))

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
            return int(self._link.call(protocol.CONTROL, {"do": "backlog"})["backlog"])
        except OSError:
            self._lose()
            return None
