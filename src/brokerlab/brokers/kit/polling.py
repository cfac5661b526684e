"""Consumers of queues that are asked for messages over HTTP: polls open on every queue, acknowledgements in batches."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from brokerlab.brokers.kit.deadlines import seconds_until
from brokerlab.brokers.kit.http_link import HttpAnswer
from brokerlab.brokers.kit.http_pool import HttpPool
from brokerlab.brokers.kit.reconnecting import GIVE_UP_S, RECONNECT_EVERY_S
from brokerlab.errors import BrokerError
from brokerlab.model.blocks import Deliveries, no_deliveries
from brokerlab.model.plan import AgentPlan, Endpoint

_OTHERS_AT_ONCE = 2  # requests that are not polls
_BEYOND_WAIT_S = 30.0  # a poll that is silent so long after its time is given up
_FLUSH_S = 5.0
_STEP_S = 0.1


class PolledMessage(NamedTuple):
    payload: bytes
    handle: str  # what it is acknowledged by
    again: bool


class Asked(NamedTuple):
    """An open request: a poll of a queue, or something to be done to messages of it."""

    queue: int
    is_poll: bool


@dataclass(frozen=True)
class Polled:
    """The messages of one answer."""

    queue: int
    messages: list[PolledMessage]
    at_mono_ns: int


@dataclass(frozen=True)
class PollLimits:
    polls: int  # open on each queue
    wait_s: int  # how long the server keeps one open
    prefetch: int  # with so many messages at hand no more are asked for
    batch: int  # messages acknowledged or given back by one request


class PollingConsumer(ABC):
    """Most of brokers.contract.Consumer. Queues are numbered as the cell's partitions. A lost acknowledgement is not
    repeated: its message comes again."""

    def __init__(self, plan: AgentPlan, number: int, endpoint: Endpoint, queues: int, limits: PollLimits) -> None:
        assert plan.consumers is not None
        self._limits = limits
        self._outage_s = plan.outage_s
        self._automatic = plan.consumers.acknowledge == "automatic"
        self._batch = 1 if plan.consumers.acknowledge == "each" else limits.batch
        self._polls = [0] * queues  # open ones, by queue
        self._arrived: deque[Polled] = deque()
        self._held = 0  # messages in `_arrived`
        self._unacknowledged: dict[str, int] = {}  # handles of what was handed out -> queue
        self._done: list[deque[str]] = [deque() for _ in range(queues)]  # handles to be acknowledged, by queue
        self._pause_until = 0.0
        self._closing = False
        count, answer_s = queues * limits.polls + _OTHERS_AT_ONCE, limits.wait_s + _BEYOND_WAIT_S
        name = f"{plan.agent}-{number}"
        self._pool: HttpPool[Asked] = HttpPool(endpoint, name, count, answer_s, self._proof())
        self._ask()

    @abstractmethod
    def _proof(self) -> bytes:
        """A request that changes nothing."""

    @abstractmethod
    def _poll(self, queue: int) -> bytes:
        """A request for messages."""

    @abstractmethod
    def _acknowledgement(self, queue: int, handles: Sequence[str]) -> bytes:
        """A request that ends these messages."""

    @abstractmethod
    def _return(self, queue: int, handles: Sequence[str]) -> bytes:
        """A request that makes these messages come again at once."""

    @abstractmethod
    def _messages(self, queue: int, answer: HttpAnswer) -> list[PolledMessage] | None:
        """Those of an answer; None where the server could not answer now. Raises BrokerError where it never will."""

    @abstractmethod
    def _waiting(self) -> int:
        """What the server holds in all queues, delivered or not. Raises BrokerError."""

    def _ask(self) -> None:
        """Acknowledgements first, then polls, as far as connections are free."""
        for queue, handles in enumerate(self._done):
            while handles and self._pool.idle:
                some = [handles.popleft() for _ in range(min(self._batch, len(handles)))]
                self._pool.ask(self._acknowledgement(queue, some), Asked(queue, is_poll=False))
        if self._closing or time.monotonic() < self._pause_until:
            return
        for queue in range(len(self._polls)):
            while self._may_poll(queue):
                self._polls[queue] += 1
                self._pool.ask(self._poll(queue), Asked(queue, is_poll=True))

    def _may_poll(self, queue: int) -> bool:
        enough = self._polls[queue] >= self._limits.polls or self._held >= self._limits.prefetch
        return not enough and self._pool.idle > 0

    def _step(self) -> None:
        """Take what has come, and ask for more. Raises BrokerError where that has not worked for long."""
        for asked, answer in self._pool.pump():
            if asked.is_poll:
                self._polls[asked.queue] -= 1
                self._take(asked.queue, answer)
        lost_since = self._pool.lost_since
        most_s = GIVE_UP_S + self._outage_s
        if lost_since is not None and time.monotonic() - lost_since > most_s:
            raise BrokerError(f"the queues could not be read for {most_s:.0f} s: no connection")
        self._ask()

    def _take(self, queue: int, answer: HttpAnswer | OSError) -> None:
        """A poll that was lost is repeated; what the server had given to it comes again."""
        if isinstance(answer, OSError):
            return
        messages = self._messages(queue, answer)
        if messages is None:
            self._pause_until = time.monotonic() + RECONNECT_EVERY_S
        elif messages:
            self._arrived.append(Polled(queue, messages, time.monotonic_ns()))
            self._held += len(messages)
            if self._automatic:
                self._done[queue].extend(m.handle for m in messages)

    def receive(self, most: int, deadline_mono_ns: int) -> Deliveries:
        while True:
            self._step()
            if self._arrived:
                return self._hand_out(most)
            left_s = seconds_until(deadline_mono_ns)
            if left_s <= 0:
                return no_deliveries(time.monotonic_ns())
            self._pool.wait(left_s)

    def _hand_out(self, most: int) -> Deliveries:
        chunk = self._arrived.popleft()
        if len(chunk.messages) > most:
            self._arrived.appendleft(replace(chunk, messages=chunk.messages[most:]))
            chunk = replace(chunk, messages=chunk.messages[:most])
        self._held -= len(chunk.messages)
        if not self._automatic:
            self._unacknowledged.update({m.handle: chunk.queue for m in chunk.messages})
        again = np.array([m.again for m in chunk.messages], np.uint8)
        payloads = [m.payload for m in chunk.messages]
        return Deliveries.from_payloads(payloads, chunk.at_mono_ns, redelivered=again, token=chunk)

    def acknowledge(self, deliveries: Deliveries) -> None:
        chunk = deliveries.token
        if self._automatic or not isinstance(chunk, Polled):
            return
        for message in chunk.messages:
            if self._unacknowledged.pop(message.handle, None) is not None:
                self._done[chunk.queue].append(message.handle)
        self._ask()

    def remaining(self) -> int | None:
        """Asked once all that was acknowledged has ended; what ends by itself counts until it is handed out."""
        try:
            self._work_until(time.monotonic() + _FLUSH_S, polls=False)
            left = self._waiting()
        except BrokerError:
            return None
        return left + (self._held if self._automatic else 0)

    def _work_until(self, until: float, *, polls: bool) -> None:
        """Until no acknowledgement is left to be sent or answered; with `polls`, no poll either."""
        while time.monotonic() < until and self._pool.lost_since is None:
            self._step()
            if not any(self._done) and not any(polls or not asked.is_poll for asked in self._pool.open_tags()):
                return
            self._pool.wait(min(_STEP_S, until - time.monotonic()))

    def close(self, deadline_mono_ns: int) -> None:
        """Waits for open polls, which would take messages with them, and gives back what was not acknowledged."""
        self._closing = True
        try:
            self._work_until(time.monotonic() + seconds_until(deadline_mono_ns) * 0.8, polls=True)
            self._give_back(deadline_mono_ns)
            self._work_until(time.monotonic() + seconds_until(deadline_mono_ns), polls=False)
        except BrokerError:
            pass  # it cannot be said to the server: they come again by themselves
        self._pool.close(deadline_mono_ns)

    def _give_back(self, deadline_mono_ns: int) -> None:
        of_queue: list[list[str]] = [[] for _ in self._polls]
        for handle, queue in self._unacknowledged.items():
            of_queue[queue].append(handle)
        for chunk in () if self._automatic else self._arrived:
            of_queue[chunk.queue] += [m.handle for m in chunk.messages]
        for queue, handles in enumerate(of_queue):
            for first in range(0, len(handles), self._limits.batch):
                while not self._pool.idle:
                    if seconds_until(deadline_mono_ns) <= 0 or self._pool.lost_since is not None:
                        return
                    self._pool.wait(_STEP_S)
                    self._step()
                request = self._return(queue, handles[first : first + self._limits.batch])
                self._pool.ask(request, Asked(queue, is_poll=False))
