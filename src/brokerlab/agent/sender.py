"""One producer at work: what is due is cut from the pool, stamped, handed to the client; what settled is noted.

Open loop: send times are fixed by the schedule and nothing the broker does moves them. Closed loop: a window of
unacknowledged messages, refilled as they settle; there the scheduled time is the moment of sending.
"""

from __future__ import annotations

import time
from select import POLLIN, POLLOUT

import numpy as np

from brokerlab.agent.closed_loop import NO_LIMIT, batch_sizes, note_sent, room_wanted, wanted
from brokerlab.agent.ledger import LedgerShape, ProducerTotals, Rows, producer_ledger, ring_size
from brokerlab.agent.payload import POOL_BYTES, PayloadPool
from brokerlab.agent.schedule import Schedule
from brokerlab.agent.stamp import BLOCK_MOST, stamper
from brokerlab.brokers.contract import Producer, Watchable
from brokerlab.model.blocks import Block, Int64s, Settlements
from brokerlab.model.plan import AgentPlan

NEVER_NS = 1 << 62
CHUNK = 1 << 13  # due times made ahead: few enough to be made within a tick
BEHIND_MOST = 1 << 22  # due times kept while the client does not take them
# Closed loop: how often the client is asked, as a share of the time a message takes, and the limits of that.
CLOSED_TICKS_PER_LATENCY = 64
CLOSED_TICK_LEAST_NS, CLOSED_TICK_MOST_NS = 20_000, 1_000_000
NO_WORD = "no answer within the send timeout"
IDLE_NS = 5_000_000  # the longest sleep while nothing is due
EXPIRE_EVERY_NS = 100_000_000
FULL_NS = 1_000_000  # the longest wait while the client's buffer is full
OFFER_LEAST = 64  # messages offered at once to a client whose buffer was full: more are not stamped in vain
GRACE_NS = 200_000_000  # after the end of the measure phase, for what was due just before it


class SenderState:
    """Where a sender stands. `sender_native` keeps the same fields in C memory."""

    __slots__ = (
        "at",  # position in the due times of the next message to send
        "batch_at",  # closed loop in batches: number of the next one, and what is still to be sent of the last
        "batch_left",
        "buffer_full",
        "free_since_ns",  # when the client last took fewer than were due
        "in_flight",
        "index",  # number of the next message
        "last_expiry_ns",
        "left",  # messages still to be sent in the measure phase of a closed loop, where their number ends it
        "measure_from_ns",
        "noted",  # position in the due times up to which `due` is counted
        "settled_since",
        "tick_ns",  # how long to wait before the client is asked again
    )

    def __init__(self, tick_ns: int) -> None:
        self.at = self.batch_at = self.batch_left = self.buffer_full = self.free_since_ns = self.in_flight = (
            self.index
        ) = 0
        self.last_expiry_ns = self.measure_from_ns = self.noted = self.settled_since = 0
        self.left = NO_LIMIT
        self.tick_ns = tick_ns


class Sender:
    """One producer of an agent: schedule, payloads, connection and ledger."""

    def __init__(self, plan: AgentPlan, number: int, client: Producer) -> None:
        producers = plan.producers
        assert producers is not None
        self.number = number
        self.client = client
        self._plan = plan
        self._window = producers.schedule.window
        self._limit = self._window or producers.window_limit
        self._timeout_ns = round(producers.send_timeout_s * 1e9)
        self._messages = producers.messages_of(number)
        self._batch_sizes = batch_sizes(producers.schedule, plan.seed, number)
        cell_partitions = len(plan.destinations) * plan.partitions
        self._pool = PayloadPool(
            producers.payload,
            producers.keys,
            partitions=cell_partitions,
            seed=plan.seed,
            producer=number,
            stripe=producers.stripe,
            run_tag=plan.run_tag,
            pool_bytes=POOL_BYTES // len(plan.members),
        )
        self._stamper = stamper(self._pool, cell_partitions)
        rate = producers.schedule.rate_per_s
        self.ledger = producer_ledger(
            LedgerShape(
                producers=plan.producers_in_cell,
                destinations=len(plan.destinations),
                partitions=plan.partitions,
                ring_size=ring_size(self._limit, rate, producers.send_timeout_s),
                keep_messages=plan.keep_messages,
            )
        )
        self._due: Int64s = np.empty(0, np.int64)
        self._schedule: Schedule | None = None
        self._no_more_due = False
        self._unsent, self._unsent_index = self._due, 0
        self.state = self._new_state(plan.tick_ns)
        self.state.left = NO_LIMIT if self._messages is None else self._messages
        self.is_full = False  # the client took fewer than it was offered in the last step
        self._offer_most = BLOCK_MOST
        self._errors: dict[str, int] = {}
        self._watch = client.watched if isinstance(client, Watchable) else None

    def _new_state(self, tick_ns: int) -> SenderState:
        return SenderState(tick_ns)

    def begin(self, start_ns: int, unix_minus_mono_ns: int) -> None:
        """The agreed start is known: the schedule becomes times."""
        plan = self._plan
        assert plan.producers is not None
        phases = plan.phases
        measure_from_ns = start_ns + round(phases.warm_up_s * 1e9)
        self._start_ns = start_ns
        self.end_ns = measure_from_ns + round(phases.measure_s * 1e9)
        self.ledger.start(unix_minus_mono_ns, measure_from_ns)
        self.state.measure_from_ns = measure_from_ns
        if self._window is None:
            self._schedule = Schedule(
                plan.producers.schedule,
                phases,
                seed=plan.seed,
                producer=self.number,
                producers=plan.producers_in_cell,
                messages=self._messages,
            )
            self._refill()

    def _refill(self) -> None:
        """Append due times; those already sent are dropped. As many as wait, when more than a chunk do: copying them
        for every chunk would cost a sender that is behind more than sending."""
        assert self._schedule is not None
        fresh = self._schedule.due_offsets_ns(max(CHUNK, len(self._due) - self.state.at)) + self._start_ns
        state = self.state
        due, noted = np.concatenate([self._due[state.at :], fresh]), state.noted - state.at
        self._use_due(due, noted, is_all=len(fresh) == 0)

    def _use_due(self, due: Int64s, noted: int, *, is_all: bool) -> None:
        """The due times from here on, of which the first `noted` are counted; `is_all`: no more are to be asked for."""
        self._due = due
        self._no_more_due = is_all
        self.state.at, self.state.noted = 0, noted

    def next_due_ns(self) -> int:
        """When the next message is due; NEVER_NS when none is left."""
        if self.state.at == len(self._due):
            return NEVER_NS
        return int(self._due[self.state.at])

    def watched(self) -> list[tuple[int, int]] | None:
        """Sockets and the events to wait for until the client learns something. None: it must be asked at every tick,
        because it cannot say, or because answers are to be gathered before a window is filled again."""
        if self._watch is None or (self._window is not None and room_wanted(self._window) > 1):
            return None
        return [(number, POLLIN | POLLOUT if unsent else POLLIN) for number, unsent in self._watch()]

    def watched_for_room(self) -> list[tuple[int, int]] | None:
        """Sockets and the events that make room in a client whose buffer is full: what is unsent leaves, or, where
        nothing is, an answer comes. None where the client cannot say."""
        if self._watch is None:
            return None
        return [(number, POLLOUT if unsent else POLLIN) for number, unsent in self._watch()]

    def step(self, now_ns: int, until_ns: int) -> None:
        """Settle what the client learnt, give up what is too old, send what is due. However slow the client is, no block
        is begun after `until_ns` but the first: the agent has other things to do then."""
        self.is_full = False
        self._settle(now_ns)
        if self._window is not None:
            self._step_closed(now_ns, until_ns)
        elif self.state.at == len(self._due) or self._due[self.state.at] <= now_ns:
            self._step_open(now_ns, until_ns)

    def _settle(self, now_ns: int) -> None:
        self._note(self.client.settled())
        if now_ns - self.state.last_expiry_ns > EXPIRE_EVERY_NS:
            if self._window is not None:
                self._choose_tick(now_ns - self.state.last_expiry_ns)
            self.state.last_expiry_ns = now_ns
            self._give_up(now_ns - self._timeout_ns, now_ns, NO_WORD)

    def _note(self, settlements: Settlements) -> None:
        if len(settlements):
            settled = self.ledger.settled(settlements)
            self.state.in_flight -= settled
            self.state.settled_since += settled
        for kind, n in settlements.errors.items():
            self._errors[kind] = self._errors.get(kind, 0) + n

    def _choose_tick(self, elapsed_ns: int) -> None:
        """A full window takes window / rate to settle; asking 64 times in that time is exact to 2 % and costs little."""
        assert self._window is not None
        settled, self.state.settled_since = self.state.settled_since, 0
        latency_ns = self._window * elapsed_ns // max(settled, 1)
        wanted_ns = latency_ns // CLOSED_TICKS_PER_LATENCY
        self.state.tick_ns = min(max(wanted_ns, CLOSED_TICK_LEAST_NS), CLOSED_TICK_MOST_NS)

    def _give_up(self, sent_before_ns: int, now_ns: int, kind: str) -> None:
        expired = self.ledger.expire(sent_before_ns, now_ns)
        if expired:
            self.state.in_flight -= expired
            self._errors[kind] = self._errors.get(kind, 0) + expired

    def _note_due(self, now_ns: int) -> int:
        """Count what has become due; returns how many messages wait."""
        until = int(self._due.searchsorted(now_ns, "right"))
        while not self._no_more_due and until == len(self._due) and len(self._due) - self.state.at < BEHIND_MOST:
            before = len(self._due) - self.state.at
            self._refill()
            until = int(self._due.searchsorted(now_ns, "right"))
            if len(self._due) == before:
                break
        if until > self.state.noted:
            first = self.state.index + self.state.noted - self.state.at
            self.ledger.due(first, self._due[self.state.noted : until], self._pool.partition_pattern)
            self.state.noted = until
        return until - self.state.at

    def _step_open(self, now_ns: int, until_ns: int) -> None:
        waiting = self._note_due(now_ns)
        while waiting > 0:
            taken, asked = self._send(waiting, None)
            waiting -= taken
            if taken < asked or asked == 0:
                self._note_full()
                return
            if time.monotonic_ns() >= until_ns:
                return

    def _step_closed(self, now_ns: int, until_ns: int) -> None:
        assert self._window is not None
        if now_ns >= self.end_ns:
            return
        stop_ns = min(until_ns, self.end_ns)
        while count := wanted(self.state, self._window, self._batch_sizes, now_ns):
            taken, asked = self._send(count, now_ns)
            note_sent(self.state, self._batch_sizes, taken, now_ns)
            if taken < asked or asked == 0:
                self._note_full()
                return
            if asked == BLOCK_MOST:
                self._settle(now_ns)
            now_ns = time.monotonic_ns()
            if now_ns >= stop_ns:
                return

    def _note_full(self) -> None:
        self.state.buffer_full += 1
        self.state.free_since_ns = time.monotonic_ns()
        self.is_full = True

    def _send(self, wanted: int, scheduled_ns: int | None) -> tuple[int, int]:
        """Offer up to `wanted` messages as one block: (taken, asked)."""
        most = min(wanted, self._offer_most, self._limit - self.state.in_flight, self.ledger.room())
        if most <= 0:
            return 0, 0
        slot, n = self._pool.take(most)
        due = self._due[self.state.at : self.state.at + n]
        scheduled = due if scheduled_ns is None else np.full(n, scheduled_ns, np.int64)
        # What the client does with them, and whom it wakes, is part of the way, not of our lateness.
        handed_ns = time.monotonic_ns() if scheduled_ns is None else scheduled_ns
        partitions, sequences = self._stamper.stamp(
            slot, self.state.index, scheduled, handed_ns, self.state.free_since_ns
        )
        pool = self._pool
        lengths = pool.lengths[slot : slot + n]
        keys = pool.key_pattern
        if keys is not None:
            keys = keys[(self.state.index + np.arange(n)) % len(keys)]
        block = Block(pool.buffer, pool.offsets[slot : slot + n], lengths, partitions, self.state.index, keys)
        taken = self.client.send(block)
        wanted_next = 2 * self._offer_most if taken == n else 2 * taken
        self._offer_most = min(max(wanted_next, OFFER_LEAST), BLOCK_MOST)
        if taken < n:
            self._stamper.take_back(taken)
            self._pool.give_back(n - taken)
            scheduled, sequences = scheduled[:taken], sequences[:taken]
            partitions, lengths = partitions[:taken], lengths[:taken]
        if taken:
            if self._window is not None:
                self.ledger.due(self.state.index, scheduled, pool.partition_pattern)
            self.ledger.sent(
                self.state.index, scheduled, partitions, sequences, lengths, handed_ns, self.state.free_since_ns
            )
            self.state.index += taken
            self.state.in_flight += taken
            if scheduled_ns is None:
                self.state.at += taken
        return taken, n

    def behind(self, now_ns: int) -> int:
        """Messages due but not sent; where more are due than due times are kept, by the schedule's mean."""
        if self._schedule is None:
            return 0
        waiting = int(self._due.searchsorted(now_ns, "right"))
        if waiting < len(self._due) or self._no_more_due:
            return waiting - self.state.at
        return max(waiting - self.state.at, self._schedule.expected_by(now_ns - self._start_ns) - self.state.index)

    def has_sent_all(self, now_ns: int) -> bool:
        """The measure phase is over and so is what was due in it, or the grace time for that; or the number of messages
        that ends it was sent."""
        if self.has_sent_its_number():
            return True
        if now_ns < self.end_ns:
            return False
        return self.state.at == len(self._due) or now_ns >= self.end_ns + GRACE_NS

    def has_sent_its_number(self) -> bool:
        """Whether a number of messages was to be sent, and all of them were."""
        if self._messages is None:
            return False
        if self._window is not None:
            return bool(self.state.left == 0)
        return self._no_more_due and self.state.at == len(self._due)

    def end_sending(self) -> None:
        """Send nothing more. What is due and not counted is for `note_the_unsent`."""
        self._unsent_index = self.state.index + self.state.noted - self.state.at
        self._unsent = self._due[self.state.noted :]
        self._use_due(np.empty(0, np.int64), 0, is_all=True)

    def note_the_unsent(self, until_ns: int) -> bool:
        """Count what the schedule still held when sending ended: due, never sent. Ends soon after `until_ns`; False when
        there is more to count."""
        while self._schedule is not None:
            if len(self._unsent) == 0:
                self._unsent = self._schedule.due_offsets_ns(CHUNK) + self._start_ns
            if len(self._unsent) == 0:
                break
            self.ledger.due(self._unsent_index, self._unsent, self._pool.partition_pattern)
            self._unsent_index += len(self._unsent)
            self._unsent = self._unsent[:0]
            if time.monotonic_ns() >= until_ns:
                return False
        return True

    def finish(self, now_ns: int) -> None:
        """Whatever has not settled by now is unknown."""
        self._settle(now_ns)
        self._give_up(NEVER_NS, now_ns, "not settled when the producer ended")

    def is_settled(self) -> bool:
        return self.state.in_flight == 0

    def take_errors(self) -> dict[str, int]:
        """Kinds of errors and how often since the last call."""
        errors, self._errors = self._errors, {}
        return errors

    def totals(self) -> ProducerTotals:
        return self.ledger.totals()

    def take(self) -> Rows:
        return self.ledger.take()

    def close(self, deadline_ns: int) -> None:
        self._pool.close()
        self.client.close(deadline_ns)
