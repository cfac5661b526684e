"""Publishing to exchanges by AMQP 0.9.1, with confirms or without."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
from pika import spec

from brokerlab.brokers.kit.reconnecting import RECONNECT_S, ReconnectingProducer
from brokerlab.brokers.kit.unconfirmed import Unconfirmed
from brokerlab.brokers.rabbitmq.amqp import PATH, AmqpLink
from brokerlab.brokers.rabbitmq.frames import Confirms, PublishEncoder, read_confirms
from brokerlab.brokers.rabbitmq.names import routing_key
from brokerlab.brokers.rabbitmq.outcomes import CONFIRMS, outcome_of_return
from brokerlab.brokers.rabbitmq.settings import client_setting, confirm_window, confirms
from brokerlab.model.blocks import ACKNOWLEDGED, REJECTED, Block, Int64s
from brokerlab.model.plan import AgentPlan


class AmqpProducer(ReconnectingProducer[AmqpLink]):
    """See brokers.contract.Producer."""

    link_class = AmqpLink

    def __init__(self, plan: AgentPlan, number: int) -> None:
        assert plan.producers is not None
        super().__init__(plan, number, client_setting(plan, "pending_bytes"))
        self._confirms = confirms(plan)
        waiting = f"confirm window {confirm_window(plan.producers)}" if self._confirms else "without confirms"
        self.path = f"{PATH}, {waiting}"
        self._routes = [(d, routing_key(p)) for d in plan.destinations for p in range(plan.partitions)]
        self._returned: dict[int, str] = {}
        self._return: tuple[int, str] | None = None  # a basic.return whose header has not come yet
        self._start(otherwise="RabbitMQ does not confirm publishing")

    def _begin(self, link: AmqpLink) -> None:
        link.on_frames, link.on_method = self._on_frames, self._on_method
        self._unconfirmed = Unconfirmed()  # tags are counted by connection
        self._encoder = PublishEncoder(self._routes, link.frame_max, mandatory=self._confirms)
        self._overhead_bytes = self._encoder.overhead_bytes
        self._written_bytes = self._last_tag = 0
        self._leaving: deque[tuple[int, int]] = deque()
        if self._confirms:
            link.call(spec.Confirm.Select(), RECONNECT_S)

    def _room(self, link: AmqpLink) -> int:
        return 0 if link.blocked else super()._room(link)

    def _encode(self, block: Block) -> bytes | memoryview:
        data = self._encoder.encode(block)
        if not self._confirms:
            self._written_bytes += len(data)
            self._leaving.append((self._written_bytes, len(block)))
        return data

    def _pumped(self, link: AmqpLink) -> None:
        """Without confirms a message is acknowledged when the socket has taken its block: handed to the network, no more."""
        gone_bytes = self._written_bytes - link.unsent_bytes
        while self._leaving and self._leaving[0][0] <= gone_bytes:
            _, count = self._leaving.popleft()
            self._last_tag += count
            self._settling.add(self._unconfirmed.confirm_up_to(self._last_tag), ACKNOWLEDGED)

    def _on_frames(self, view: memoryview) -> tuple[int, bool]:
        confirms = read_confirms(view)
        if len(confirms.tags):
            self._on_confirms(confirms)
        return confirms.used_bytes, False

    def _on_confirms(self, confirms: Confirms) -> None:
        if not confirms.refused.any():
            # All say the same, so their order does not matter: the farthest `multiple` first, then single ones.
            if confirms.multiple.any():
                self._acknowledged(self._unconfirmed.confirm_up_to(int(confirms.tags[confirms.multiple].max())))
            self._acknowledged(self._unconfirmed.confirm(confirms.tags[~confirms.multiple]))
            return
        columns = (confirms.tags.tolist(), confirms.multiple.tolist(), confirms.refused.tolist())
        for tag, multiple, refused in zip(*columns, strict=True):
            some = self._unconfirmed.confirm_up_to(tag) if multiple else self._unconfirmed.confirm(np.array([tag]))
            if refused:
                self._settling.add(some, CONFIRMS["Basic.Nack"], "basic.nack")
            else:
                self._acknowledged(some)

    def _acknowledged(self, indices: Int64s) -> None:
        """A message that came back is confirmed as well: no queue takes it, and that is final."""
        if self._returned:
            for index in [i for i in indices.tolist() if i in self._returned]:
                outcome, error = REJECTED, self._returned.pop(index)
                self._settling.add(np.array([index], np.int64), outcome, error)
                indices = indices[indices != index]
        self._settling.add(indices, ACKNOWLEDGED)

    def _on_method(self, told: Any) -> None:
        if isinstance(told, spec.Basic.Return):
            self._return = (told.reply_code, told.reply_text)
        elif isinstance(told, spec.BasicProperties) and self._return is not None:
            outcome, error = outcome_of_return(*self._return)
            self._return = None
            if outcome == REJECTED:
                self._returned[told.timestamp] = error

    def _lose(self, error: OSError) -> None:
        super()._lose(error)
        self._returned.clear()
        self._return = None
