"""Receiving: credit out, frames of messages in."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import cast

import numpy as np
import numpy.typing as npt

from brokerlab.brokers.memory.connection import Connection, connect
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
from brokerlab.errors import BrokerError
from brokerlab.model.blocks import Bytes, Deliveries, Int32s, Int64s, no_deliveries
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


class MemoryConsumer:
    """See brokers.contract.Consumer. A lost connection is made again once; what was not acknowledged comes again."""

    path = "python (numpy frames)"

    def __init__(self, plan: AgentPlan) -> None:
        assert plan.consumers is not None
        self._plan = plan
        self._automatic = plan.consumers.acknowledge == "automatic"
        self._arrived: list[_Arrived] = []
        self._connection = self._connect()

    def _connect(self) -> Connection:
        plan = self._plan
        connection = connect(plan.endpoint, plan.destinations, plan.partitions, plan.group)
        connection.write(frame(CREDIT, COUNT.pack(CREDIT_MESSAGES)))
        return connection

    def _reconnect(self) -> None:
        self._connection.close()
        self._arrived.clear()
        self._connection = self._connect()

    def receive(self, most: int, deadline_mono_ns: int) -> Deliveries:
        while not self._arrived:
            try:
                self._read()
                if self._arrived:
                    break
                now_ns = time.monotonic_ns()
                if now_ns >= deadline_mono_ns:
                    return no_deliveries(now_ns)
                self._connection.wait((deadline_mono_ns - now_ns) / 1e9)
            except OSError:
                self._reconnect()
        first = self._arrived[0]
        deliveries = first.cut(most)
        if first.at == len(first.lengths):
            del self._arrived[0]
        self._after_handing_out(deliveries)
        return deliveries

    def _read(self) -> None:
        frames = self._connection.frames()
        if frames:
            now_ns = time.monotonic_ns()
            self._arrived += [_Arrived.from_body(body, now_ns) for kind, body in frames if kind == DELIVER]

    def _after_handing_out(self, deliveries: Deliveries) -> None:
        try:
            self._connection.write(frame(CREDIT, COUNT.pack(len(deliveries))))
        except OSError:
            self._reconnect()
            return
        if self._automatic:
            self._acknowledge(deliveries)

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
        try:
            self._connection.write(frame(ACKNOWLEDGE, ranges.tobytes()))
        except OSError:
            self._reconnect()

    def remaining(self) -> int | None:
        try:
            answer = self._connection.call(CONTROL, {"do": "backlog"})
        except OSError as e:
            raise BrokerError(f"the server does not say what remains: {e}") from e
        return int(answer["backlog"])

    def close(self, deadline_mono_ns: int) -> None:
        """Acknowledgements already given are sent before the connection ends."""
        try:
            while not self._connection.flush() and time.monotonic_ns() < deadline_mono_ns:
                self._connection.wait(min(0.1, (deadline_mono_ns - time.monotonic_ns()) / 1e9))
        except OSError:
            pass
        self._connection.close()
