"""Senders whose ticks are in C (native/sender.c), for drivers that act in C.

The same schedule, payloads, ledger and evidence as `sender.Sender`; what is gone is the Python of every tick, thirty
microseconds five thousand times a second, and with it most of our own lateness.
"""

from __future__ import annotations

import ctypes
import time
from typing import Any

import numpy as np
import numpy.typing as npt

from brokerlab.agent.ledger_native import NativeProducerLedger
from brokerlab.agent.sender import (
    BEHIND_MOST,
    CLOSED_TICK_LEAST_NS,
    CLOSED_TICKS_PER_LATENCY,
    EXPIRE_EVERY_NS,
    IDLE_NS,
    NO_WORD,
    Sender,
)
from brokerlab.agent.stamp import BLOCK_MOST
from brokerlab.brokers.contract import ActsInC, Producer
from brokerlab.model.blocks import Int64s, Settlements
from brokerlab.model.plan import AgentPlan
from brokerlab.native import library
from brokerlab.native.border import border
from brokerlab.native.loader import address, shape
from brokerlab.native.producing import REPORTS_MOST

# Every tick may take a core from a broker that works on it; answers end a wait anyway (rest_until in native/sender.c).
CLOSED_TICK_MOST_NS = 300_000
NEEDS_DUE, NEEDS_SLOTS, NEEDS_JUDGEMENT, NEEDS_ATTENTION = 1, 2, 3, 4


class NativeSender(Sender):
    """`client` acts in C and the ledger is the C one: see `sender`."""

    state: ctypes.Structure  # type: ignore[assignment] # bl_sender of native/border.h

    def __init__(self, plan: AgentPlan, number: int, client: Producer) -> None:
        super().__init__(plan, number, client)
        lib = library()
        assert lib is not None
        assert isinstance(client, ActsInC)
        assert isinstance(self.ledger, NativeProducerLedger)
        self._lib = lib
        self._calls = calls = client.native_calls()
        state, pool = self.state, self._pool
        partitions = len(plan.destinations) * plan.partitions
        self._keys = None if pool.key_pattern is None else pool.key_pattern.astype(">i4")
        arrays: dict[str, npt.NDArray[Any]] = {
            "pattern": pool.partition_pattern,
            "next_sequence": np.zeros(partitions, np.int64),
            "partitions": np.zeros(BLOCK_MOST, np.int32),
            "sequences": np.zeros(BLOCK_MOST, np.int64),
            "scheduled_now": np.zeros(BLOCK_MOST, np.int64),
            "indices": np.zeros(REPORTS_MOST, np.int64),
            "codes": np.zeros(REPORTS_MOST, np.int32),
            "acknowledged": np.zeros(REPORTS_MOST, np.uint8),
            "at_ns": np.zeros(REPORTS_MOST, np.int64),
        }
        if self._batch_sizes is not None:
            arrays["batch_sizes"] = self._batch_sizes
            state.batch_count = len(self._batch_sizes)
        self._arrays = arrays
        for name, array in arrays.items():
            setattr(state, name, address(array))
        state.keys = None if self._keys is None else address(self._keys)
        state.pattern_length = len(pool.partition_pattern)
        state.ledger, state.client = self.ledger.handle, calls.client
        state.send, state.settled, state.watch = calls.send, calls.settled, calls.watch
        state.block_most, state.limit, state.window = BLOCK_MOST, self._limit, self._window or 0
        state.timeout_ns, state.expire_every_ns = self._timeout_ns, EXPIRE_EVERY_NS
        state.tick_least_ns, state.tick_most_ns = CLOSED_TICK_LEAST_NS, CLOSED_TICK_MOST_NS
        state.ticks_per_latency = CLOSED_TICKS_PER_LATENCY
        self._use_slots()

    def _new_state(self, tick_ns: int) -> ctypes.Structure:  # type: ignore[override]
        shape()  # raises where the two sides differ
        return border().structures["bl_sender"](tick_ns=tick_ns)

    def _use_slots(self) -> None:
        state, pool = self.state, self._pool
        state.buffer, state.offsets = address(pool.buffer), address(pool.offsets)
        state.lengths, state.body_sums = address(pool.lengths), address(pool.body_sums)
        state.slots, state.position, state.may_wrap = pool.slots, 0, pool.in_memory

    def _use_due(self, due: Int64s, noted: int, *, is_all: bool) -> None:
        super()._use_due(due, noted, is_all=is_all)
        self.state.due, self.state.due_count, self.state.no_more_due = address(due), len(due), is_all

    def begin(self, start_ns: int, unix_minus_mono_ns: int) -> None:
        super().begin(start_ns, unix_minus_mono_ns)
        self.state.end_ns = self.end_ns

    def step(self, now_ns: int, until_ns: int) -> None:
        while needed := self._lib.bl_sender_step(ctypes.addressof(self.state), now_ns, until_ns):
            if not self.supply(needed, now_ns) or time.monotonic_ns() >= until_ns:
                return

    def supply(self, needed: int, now_ns: int) -> bool:
        """Give C what it needs; False when it cannot have it now."""
        if needed == NEEDS_JUDGEMENT:
            self._judge()
        elif needed == NEEDS_SLOTS:
            self._pool.refill()
            self._use_slots()
        elif needed == NEEDS_DUE and len(self._due) - self.state.at < BEHIND_MOST:
            self._refill()
        else:
            if needed == NEEDS_ATTENTION:
                self._settle(now_ns)
            return False
        return True

    def _judge(self) -> None:
        n = self.state.reported
        columns = self._arrays
        outcomes, kinds = self._calls.judged(columns["codes"][:n])
        self._note(Settlements(columns["indices"][:n], outcomes, columns["at_ns"][:n], kinds))

    def take_errors(self) -> dict[str, int]:
        errors = super().take_errors()
        if self.state.expired:
            errors[NO_WORD] = errors.get(NO_WORD, 0) + self.state.expired
            self.state.expired = 0
        return errors


class NativeTicks:
    """Ticks of senders that are all native: C runs until something else has to be done. See `ticks.Ticks`."""

    def __init__(self, senders: list[NativeSender]) -> None:
        lib = library()
        assert lib is not None
        self._lib = lib
        self._senders = senders
        self._states = np.array([ctypes.addressof(s.state) for s in senders], np.uint64)
        self._clock = np.zeros(1, np.int64)
        self._ticks = np.zeros(1, np.int64)
        self._at = tuple(address(a) for a in (self._states, self._clock, self._ticks))

    @property
    def count(self) -> int:
        return int(self._ticks[0])

    def run(self, now_ns: int, until_ns: int) -> int:
        states, clock, ticks = self._at
        self._clock[0] = now_ns
        while needed := self._lib.bl_senders_run(states, len(self._senders), until_ns, IDLE_NS, clock, ticks):
            number, what = divmod(needed, 8)
            if self._senders[number].supply(what, int(self._clock[0])):
                # The same tick goes on, but not beyond its end: a client whose every answer is to be judged would
                # keep it going for ever.
                self._clock[0] = time.monotonic_ns()
            else:
                # The others' turn, and ours, comes with the next tick.
                self._clock[0] = self._sleep(int(self._clock[0]))
        return int(self._clock[0])

    def _sleep(self, now_ns: int) -> int:
        return int(self._lib.bl_sleep_until(now_ns + min(s.state.tick_ns for s in self._senders)))


def sender(plan: AgentPlan, number: int, client: Producer) -> Sender:
    """The sender for this client: in C where both the client and our library are."""
    if library() is not None and isinstance(client, ActsInC):
        return NativeSender(plan, number, client)
    return Sender(plan, number, client)
