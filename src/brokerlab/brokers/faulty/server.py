"""The memory server with faults: `python -m brokerlab.brokers.faulty.server --port N --faults JSON`.

Only messages that carry brokerlab's header are touched. A message's delay lies between its acceptance and both its
acknowledgement and its delivery. Acknowledgements follow their own delay exactly; deliveries keep the order of their
lane, so a message also waits for earlier ones of its lane.
"""

from __future__ import annotations

import argparse
import ctypes
import heapq
import json
import os
import signal
import sys
import time
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from brokerlab.brokers.faulty import draws
from brokerlab.brokers.faulty.draws import Headers
from brokerlab.brokers.faulty.settings import Faults, parse_faults
from brokerlab.brokers.memory.log import Partition
from brokerlab.brokers.memory.server import Server, arguments
from brokerlab.brokers.memory.session import Batch, Session
from brokerlab.model.blocks import ACKNOWLEDGED, REJECTED
from brokerlab.model.header import HEADER, HEADER_BYTES, MAGIC

HOLD_NS = 500_000_000  # a message to be overtaken is delivered after this long, in order, if nothing overtakes it
CHECKSUM_AT = 32  # bytes from here on may be damaged: a damaged magic or run tag would be another kind of fault
_PR_SET_TIMERSLACK = 29
Lane = tuple[int, int]


@dataclass(frozen=True)
class Held:
    """A message waiting to be overtaken by a later one of its lane."""

    session: Session
    partition: int
    payload: bytes
    until_ns: int


@dataclass(frozen=True)
class Delivery:
    """A message on its way into the log."""

    session: Session
    lane: Lane
    partition: int
    payload: bytes
    kind: int


@dataclass(frozen=True)
class Answer:
    """A settlement on its way to the producer."""

    session: Session
    index: int
    outcome: int


class FaultyServer(Server):
    """Counts in `injected` what a reader of the evidence must find: the names are columns of the delivery table."""

    def __init__(self, port: int, retain_bytes: int, limit_bytes: int, faults: Faults) -> None:
        super().__init__(port, retain_bytes, limit_bytes)
        self._faults = faults
        self._due: list[tuple[int, int, Delivery | Answer]] = []
        self._ordinal = 0  # breaks ties, so that equal times keep their order
        self._held: dict[Lane, list[Held]] = {}
        self._lane_busy_until_ns: dict[Lane, int] = {}
        self._released: list[tuple[Session, int, bytes]] = []
        self._pending: Counter[Partition[Session]] = Counter()  # accepted, not yet in the log
        self._first_message_ns: int | None = None
        self._stall_over = faults.stall is None
        self.injected = dict.fromkeys(("lost", "duplicated", "reordered", "corrupted", "rejected", "unknown"), 0)

    def publish(self, session: Session, batch: Batch) -> None:
        headers = headers_of(batch)
        if headers is None or self.store.is_full():
            super().publish(session, batch)
            return
        now_ns = time.monotonic_ns()
        if self._first_message_ns is None:
            self._first_message_ns = now_ns
        faults = self._faults
        if faults.delay is None and not faults.any_share():
            super().publish(session, batch)
            return
        kinds = draws.draw_faults(faults, headers)
        # Whatever still waits must not be overtaken by a block that needs no fault.
        if faults.delay is None and not self._pending and bool((kinds == draws.NONE).all()):
            super().publish(session, batch)
            return
        due_ns = now_ns + draws.draw_delays_ns(faults.seed, faults.delay, headers)
        lanes = list(zip(headers["producer"].tolist(), headers["partition"].tolist(), strict=True))
        self._schedule(session, batch, lanes, kinds.tolist(), due_ns.tolist())

    def _schedule(self, session: Session, batch: Batch, lanes: list[Lane], kinds: list[int], due_ns: list[int]) -> None:
        ends = np.cumsum(batch.lengths, dtype=np.int64).tolist()
        starts = [0, *ends[:-1]]
        partitions = batch.partitions.tolist()
        for i, (lane, kind, due) in enumerate(zip(lanes, kinds, due_ns, strict=True)):
            if kind != draws.DROP_ACK:
                outcome = REJECTED if kind == draws.REJECT else ACKNOWLEDGED
                self._later(due, Answer(session, batch.first_index + i, outcome))
            if kind in _COUNTED_AT_ONCE:
                self.injected[_COUNTED_AT_ONCE[kind]] += 1
            if kind in (draws.LOSS, draws.REJECT):
                continue
            # Equal to the predecessor's time is enough: ties are kept in order.
            release = max(due, self._lane_busy_until_ns.get(lane, 0))
            self._lane_busy_until_ns[lane] = release
            payload = bytes(batch.data[starts[i] : ends[i]])
            self._pending[session.partitions[partitions[i]]] += 1
            self._later(release, Delivery(session, lane, partitions[i], payload, kind))

    def _later(self, due_ns: int, what: Delivery | Answer) -> None:
        self._ordinal += 1
        heapq.heappush(self._due, (due_ns, self._ordinal, what))

    def next_due_ns(self) -> int | None:
        times = [self._due[0][0]] if self._due else []
        times += [held[0].until_ns for held in self._held.values()]
        stall_at = self._stall_begins_ns()
        if stall_at is not None:
            times.append(stall_at)
        return min(times, default=None)

    def _stall_begins_ns(self) -> int | None:
        stall = self._faults.stall
        if self._stall_over or stall is None or self._first_message_ns is None:
            return None
        return self._first_message_ns + stall.at_ns

    def on_time(self, now_ns: int) -> None:
        begins = self._stall_begins_ns()
        if begins is not None and self._faults.stall is not None and now_ns >= begins:
            self._stall_over = True
            time.sleep(max(0, begins + self._faults.stall.for_ns - now_ns) / 1e9)
            now_ns = time.monotonic_ns()
        while self._due and self._due[0][0] <= now_ns:
            what = heapq.heappop(self._due)[2]
            if isinstance(what, Answer):
                what.session.settle(what.index, what.index, what.outcome)
            else:
                self._deliver(what, now_ns)
        for lane in [lane for lane, held in self._held.items() if held[0].until_ns <= now_ns]:
            self._let_go(lane)
        self._append_released()

    def _deliver(self, message: Delivery, now_ns: int) -> None:
        if message.kind == draws.REORDERING:
            held = Held(message.session, message.partition, message.payload, now_ns + HOLD_NS)
            self._held.setdefault(message.lane, []).append(held)
            return
        self._pending[message.session.partitions[message.partition]] -= 1
        payload = damaged(message.payload) if message.kind == draws.CORRUPTION else message.payload
        copies = 2 if message.kind == draws.DUPLICATION else 1
        self._released += [(message.session, message.partition, payload)] * copies
        # A damaged message is no message to its reader, so it overtakes nothing.
        if message.kind != draws.CORRUPTION and message.lane in self._held:
            self.injected["reordered"] += len(self._held[message.lane])
            self._let_go(message.lane)

    def _let_go(self, lane: Lane) -> None:
        for held in self._held.pop(lane):
            self._pending[held.session.partitions[held.partition]] -= 1
            self._released.append((held.session, held.partition, held.payload))

    def _append_released(self) -> None:
        """Everything due goes into the logs as one block for each producer's connection."""
        at = 0
        while at < len(self._released):
            session = self._released[at][0]
            end = at
            while end < len(self._released) and self._released[end][0] is session:
                end += 1
            some = self._released[at:end]
            lengths = np.fromiter((len(m[2]) for m in some), np.int32, len(some))
            partitions = np.fromiter((m[1] for m in some), np.int32, len(some))
            self.append(session, Batch(0, lengths, partitions, b"".join(m[2] for m in some)))
            at = end
        self._released.clear()
        self._pending = +self._pending

    def backlog(self, session: Session) -> int:
        return super().backlog(session) + sum(self._pending[p] for p in session.partitions)

    def control(self, request: dict[str, Any]) -> dict[str, Any]:
        if request.get("do") == "injected":
            # A damaged message never arrives intact: its reader misses it as well.
            counts = self.injected | {"lost": self.injected["lost"] + self.injected["corrupted"]}
            return counts | {"recovered": self.injected["unknown"]}
        return super().control(request)


_COUNTED_AT_ONCE = {
    draws.LOSS: "lost",
    draws.DUPLICATION: "duplicated",
    draws.CORRUPTION: "corrupted",
    draws.REJECT: "rejected",
    draws.DROP_ACK: "unknown",
}


def headers_of(batch: Batch) -> Headers | None:
    """The headers of all messages; None if any message is not one of brokerlab's."""
    if int(batch.lengths.min()) < HEADER_BYTES:
        return None
    data = np.frombuffer(batch.data, np.uint8)
    starts = np.cumsum(batch.lengths, dtype=np.int64) - batch.lengths
    headers = data[starts[:, None] + np.arange(HEADER_BYTES)].reshape(-1).view(HEADER)
    return headers if bool((headers["magic"] == MAGIC).all()) else None


def damaged(payload: bytes) -> bytes:
    """The message with its last byte flipped; in a message of header alone that is a byte of the time of handing over."""
    changed = bytearray(payload)
    changed[max(CHECKSUM_AT, len(payload) - 1)] ^= 0xFF
    return bytes(changed)


def main() -> None:
    parser = arguments(argparse.ArgumentParser(description=__doc__))
    parser.add_argument("--faults", required=True)
    given = parser.parse_args()
    try:
        faults = parse_faults(json.loads(given.faults))
    except ValueError as e:
        parser.error(str(e))
    # Delays are known to the microsecond only if the kernel does not round timers up.
    ctypes.CDLL(None).prctl(_PR_SET_TIMERSLACK, 1, 0, 0, 0)
    server = FaultyServer(given.port, given.retain_bytes, given.limit_bytes, faults)

    def tell_and_end(*_: object) -> None:
        """The last line of the log is what was injected, so that a run can be compared with it afterwards."""
        os.write(sys.stdout.fileno(), f"injected {json.dumps(server.control({'do': 'injected'}))}\n".encode())
        sys.exit(0)

    signal.signal(signal.SIGTERM, tell_and_end)
    print(f"serving on 127.0.0.1:{server.port}, {faults}", flush=True)
    server.run()


if __name__ == "__main__":
    main()
