"""Publishing: one frame for a block, settlements as ranges."""

from __future__ import annotations

import time

import numpy as np
import numpy.typing as npt

from brokerlab.brokers.memory.connection import Connection, connect
from brokerlab.brokers.memory.protocol import PUBLISH, PUBLISH_HEAD, SETTLED, SETTLED_RANGE, frame
from brokerlab.brokers.memory.ranges import RangeSet
from brokerlab.errors import BrokerError
from brokerlab.model.blocks import NOTHING_SETTLED, REJECTED, UNKNOWN, Block, Int64s, Settlements
from brokerlab.model.plan import AgentPlan

FRAME_BYTES = 1 << 20
RECONNECT_EVERY_NS = 250_000_000


class MemoryProducer:
    """See brokers.contract.Producer. A lost connection is made again when the next block is sent."""

    path = "python (numpy frames)"

    def __init__(self, plan: AgentPlan) -> None:
        self._plan = plan
        self._unsettled = RangeSet()
        self._connection: Connection | None = self._connect(5.0)
        self._next_attempt_ns = 0

    def _connect(self, connect_s: float) -> Connection:
        plan = self._plan
        return connect(plan.endpoint, plan.destinations, plan.partitions, connect_s=connect_s)

    def send(self, block: Block) -> int:
        if len(block) == 0 or not self._usable():
            return 0
        assert self._connection is not None
        count = _as_many_as_fit(block)
        try:
            if not self._connection.flush():
                return 0
        except OSError:
            self._lose()
            return 0
        self._unsettled.add(block.first_index, block.first_index + count - 1)
        try:
            self._connection.write(_publish_frame(block, count))
        except OSError:
            # Part of the frame may have left: the messages were taken, and their outcome will be unknown.
            self._lose()
        return count

    def settled(self) -> Settlements:
        if self._connection is None:
            return self._give_up()
        try:
            frames = self._connection.frames()
        except OSError:
            self._lose()
            return self._give_up()
        bodies = [body for kind, body in frames if kind == SETTLED]
        if not bodies:
            return NOTHING_SETTLED
        return self._settle(np.frombuffer(b"".join(bodies), SETTLED_RANGE))

    def _settle(self, ranges: npt.NDArray[np.void]) -> Settlements:
        now_ns = time.monotonic_ns()
        firsts, counts = ranges["first"], ranges["last"] - ranges["first"] + 1
        for first, last, _ in ranges.tolist():
            self._unsettled.remove(first, last)
        indices = _expand(firsts, counts)
        outcomes = np.repeat(ranges["outcome"], counts).astype(np.uint8)
        refused = int((outcomes == REJECTED).sum())
        errors = {"refused": refused} if refused else {}
        return Settlements(indices, outcomes, np.full(len(indices), now_ns, np.int64), errors)

    def watched(self) -> list[tuple[int, bool]]:
        return [] if self._connection is None else [self._connection.watched()]

    def _usable(self) -> bool:
        if self._connection is not None:
            return True
        now_ns = time.monotonic_ns()
        # What a lost connection left unsettled must be told before anything new is taken.
        if len(self._unsettled) or now_ns < self._next_attempt_ns:
            return False
        self._next_attempt_ns = now_ns + RECONNECT_EVERY_NS
        try:
            self._connection = self._connect(0.05)
        except BrokerError:
            return False
        return True

    def _lose(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None
        self._next_attempt_ns = time.monotonic_ns() + RECONNECT_EVERY_NS

    def _give_up(self) -> Settlements:
        """Everything unsettled, as unknown."""
        if not len(self._unsettled):
            return NOTHING_SETTLED
        ranges = np.array(list(self._unsettled), np.int64)
        self._unsettled.clear()
        indices = _expand(ranges[:, 0], ranges[:, 1] - ranges[:, 0] + 1)
        n = len(indices)
        at_mono_ns = np.full(n, time.monotonic_ns(), np.int64)
        return Settlements(indices, np.full(n, UNKNOWN, np.uint8), at_mono_ns, {"connection lost": n})

    def close(self, deadline_mono_ns: int) -> None:
        if self._connection is None:
            return
        try:
            while not self._connection.flush() and time.monotonic_ns() < deadline_mono_ns:
                self._connection.wait(min(0.1, (deadline_mono_ns - time.monotonic_ns()) / 1e9))
        except OSError:
            pass
        self._connection.close()
        self._connection = None


def _as_many_as_fit(block: Block) -> int:
    """Messages for one frame: at least one, otherwise FRAME_BYTES at most."""
    ends = np.cumsum(block.lengths, dtype=np.int64)
    return max(1, int(np.searchsorted(ends, FRAME_BYTES, side="right")))


def _publish_frame(block: Block, count: int) -> bytes:
    offsets, lengths = block.offsets[:count], block.lengths[:count]
    start, end = int(offsets[0]), int(offsets[-1]) + int(lengths[-1])
    if bool((offsets[1:] == offsets[:-1] + lengths[:-1]).all()):
        payload = block.buffer[start:end].tobytes()
    else:
        buffer = block.buffer
        payload = b"".join(buffer[o : o + s].tobytes() for o, s in zip(offsets.tolist(), lengths.tolist(), strict=True))
    head = PUBLISH_HEAD.pack(block.first_index, count)
    columns = lengths.astype("<i4").tobytes() + block.partitions[:count].astype("<i4").tobytes()
    return frame(PUBLISH, head, columns, payload)


def _expand(firsts: Int64s, counts: Int64s) -> Int64s:
    """firsts[0], firsts[0] + 1, ... counts[0] of them, then from firsts[1], and so on."""
    before = np.cumsum(counts) - counts
    return np.repeat(firsts - before, counts) + np.arange(int(counts.sum()), dtype=np.int64)
