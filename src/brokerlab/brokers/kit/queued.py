"""Producers for servers that work on several requests of a connection at once, in any order."""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Callable
from functools import partial

import numpy as np

from brokerlab.brokers.kit.reconnecting import AnyLink, ReconnectingProducer
from brokerlab.brokers.kit.unconfirmed import Unconfirmed
from brokerlab.model.blocks import Block, Int64s
from brokerlab.model.plan import AgentPlan

Learnt = Callable[[int, str | None], None]  # outcome, and kind of error where it was not acknowledged


class QueuedProducer(ReconnectingProducer[AnyLink]):
    """See brokers.contract.Producer. Order within a partition is kept: each has one request under way, and what is sent to
    it meanwhile goes together with the next one, as many as a request may have. Nothing waits for a batch to fill."""

    def __init__(self, plan: AgentPlan, number: int, pending_bytes: int, most: int, most_bytes: int) -> None:
        """A request has at most `most` messages and `most_bytes` of them, or one that is larger."""
        super().__init__(plan, number, pending_bytes)
        self._partitions = len(plan.destinations) * plan.partitions
        self._most, self._most_bytes = most, most_bytes
        self._start(otherwise="no messages can be sent")

    @abstractmethod
    def _request(self, link: AnyLink, partition: int, payloads: list[bytes], learnt: Learnt) -> bytes:
        """A frame with these messages; `learnt` is called once when its answer has come, on this connection only."""

    def _begin(self, link: AnyLink) -> None:  # noqa: ARG002
        self._unconfirmed = Unconfirmed()
        self._next_tag = 1
        self._waiting: list[deque[tuple[int, bytes]]] = [deque() for _ in range(self._partitions)]
        self._waiting_bytes = 0
        self._busy = [False] * self._partitions

    def _room(self, link: AnyLink) -> int:
        return super()._room(link) - self._waiting_bytes

    def _encode(self, block: Block) -> bytes:
        tags = range(self._next_tag, self._next_tag + len(block))
        self._next_tag += len(block)
        self._waiting_bytes += int(block.lengths.sum())
        partitions = block.partitions.tolist()
        for partition, tag, payload in zip(partitions, tags, block.payloads(), strict=True):
            self._waiting[partition].append((tag, payload))
        return b"".join(map(self._next_request, dict.fromkeys(partitions)))

    def _next_request(self, partition: int) -> bytes:
        """Of what waits for this partition; nothing while a request is under way."""
        waiting = self._waiting[partition]
        if self._busy[partition] or not waiting or self._link is None:
            return b""
        tags: list[int] = []
        payloads: list[bytes] = []
        size = 0
        while waiting and len(tags) < self._most and (not tags or size + len(waiting[0][1]) <= self._most_bytes):
            tag, payload = waiting.popleft()
            tags.append(tag)
            payloads.append(payload)
            size += len(payload)
        self._waiting_bytes -= size
        self._busy[partition] = True
        learnt = partial(self._learnt, partition, np.array(tags, np.int64))
        return self._request(self._link, partition, payloads, learnt)

    def _learnt(self, partition: int, tags: Int64s, outcome: int, error: str | None) -> None:
        self._settling.add(self._unconfirmed.confirm(tags), outcome, error)
        self._busy[partition] = False
        following = self._next_request(partition)
        if following and self._link is not None:
            self._link.write(following)
