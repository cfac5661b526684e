"""Consumers that pull from queues by offset, and tell the server up to which offset their group is done."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic

from brokerlab.brokers.kit.arrived import Arrived
from brokerlab.brokers.kit.reconnecting import AnyLink, ReconnectingConsumer
from brokerlab.model.blocks import Deliveries
from brokerlab.model.plan import AgentPlan


@dataclass
class PulledQueue(Generic[AnyLink]):
    """One queue on one connection."""

    topic: str
    number: int  # within the topic
    link: AnyLink
    next: int = 0  # the offset that is pulled next
    held: int = 0  # messages that came and were not handed out
    pulling: bool = False
    done: int = 0  # everything before this offset is acknowledged
    committing: int | None = None  # the offset that the server was asked to keep and has not confirmed


class PullingConsumer(ReconnectingConsumer[AnyLink, tuple[PulledQueue[AnyLink], Arrived]], Generic[AnyLink]):
    """See brokers.contract.Consumer. `queues` are topic and number of each; a queue is not pulled from while `prefetch` of
    its messages are held here."""

    def __init__(self, plan: AgentPlan, number: int, queues: list[tuple[str, int]], prefetch: int) -> None:
        super().__init__(plan, number)
        self._prefetch = prefetch
        self._names = queues
        self._queues: list[PulledQueue[AnyLink]] = []
        self._start_reading()

    @abstractmethod
    def _committed(self, queue: PulledQueue[AnyLink]) -> int:
        """The offset up to which the group is done, asked of the server; the first one where it keeps none."""

    @abstractmethod
    def _end(self, queue: PulledQueue[AnyLink]) -> int:
        """The offset behind the last message that the queue has, asked of the server."""

    @abstractmethod
    def _request_pull(self, queue: PulledQueue[AnyLink], pulled: Callable[[int, Arrived | None], None]) -> bytes:
        """A frame; `pulled` gets the offset that follows, and what came if anything did."""

    @abstractmethod
    def _request_commit(self, queue: PulledQueue[AnyLink], confirmed: Callable[[], None]) -> bytes:
        """A frame that tells that everything before `queue.done` is done."""

    def _begin(self, link: AnyLink) -> None:
        self._queues = [PulledQueue(topic, number, link) for topic, number in self._names]
        for queue in self._queues:
            queue.next = queue.done = self._committed(queue)
        for queue in self._queues:
            self._pull(queue)

    def _pull(self, queue: PulledQueue[AnyLink]) -> None:
        if queue.pulling or queue.held >= self._prefetch:
            return

        def pulled(following: int, chunk: Arrived | None) -> None:
            queue.pulling, queue.next = False, following
            if chunk is not None and len(chunk):
                queue.held += len(chunk)
                self._arrived.append((queue, chunk))
            self._pull(queue)

        queue.pulling = True
        queue.link.write(self._request_pull(queue, pulled))

    def _hand_out(self, most: int) -> Deliveries:
        queue, chunk = self._arrived.popleft()
        some, rest = chunk.split(most)
        if rest is not None:
            self._arrived.appendleft((queue, rest))
        queue.held -= len(some)
        following = int(some.positions[-1]) + 1
        self._or_lose(lambda: self._pull(queue))
        if self._automatic:
            self._commit(queue, following)
        return some.deliveries((queue, following))

    def acknowledge(self, deliveries: Deliveries) -> None:
        if isinstance(deliveries.token, tuple) and not self._automatic:
            self._commit(*deliveries.token)

    def _commit(self, queue: PulledQueue[AnyLink], offset: int) -> None:
        """Everything of the queue before this offset is done. What a lost connection gave comes again anyway."""
        if queue.link is self._link and offset > queue.done:
            queue.done = offset
            self._or_lose(lambda: self._send_commit(queue))

    def _send_commit(self, queue: PulledQueue[AnyLink]) -> None:
        """One at a time for each queue: a server may execute the second of two first, and would go back."""
        if queue.committing is not None:
            return

        def confirmed() -> None:
            kept, queue.committing = queue.committing, None
            if kept is not None and kept < queue.done:
                self._send_commit(queue)

        queue.committing = queue.done
        queue.link.write(self._request_commit(queue, confirmed))

    def remaining(self) -> int | None:
        if self._link is None:
            return None
        try:
            return sum(max(0, self._end(queue) - self._committed(queue)) for queue in self._queues)
        except OSError:
            self._lose()
            return None

    def close(self, deadline_mono_ns: int) -> None:
        """When the server has confirmed what was acknowledged."""
        self._or_lose(lambda: self._wait_for_commits(deadline_mono_ns / 1e9))
        super().close(deadline_mono_ns)

    def _wait_for_commits(self, until: float) -> None:
        while self._link is not None and any(queue.committing is not None for queue in self._queues):
            left_s = until - time.monotonic()
            if left_s <= 0:
                return
            if not self._link.pump():
                self._link.wait(left_s)
