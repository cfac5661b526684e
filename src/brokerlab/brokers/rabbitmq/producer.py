"""Publishing to exchanges by AMQP 0.9.1, with confirms."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from pika import spec
from pika.exceptions import AMQPError

from brokerlab.brokers.rabbitmq.amqp import PATH, AmqpLink, ClosedByServerError, open_link
from brokerlab.brokers.rabbitmq.frames import Confirms, PublishEncoder, read_confirms
from brokerlab.brokers.rabbitmq.names import routing_key
from brokerlab.brokers.rabbitmq.outcomes import CONFIRMS, outcome_of_return
from brokerlab.brokers.rabbitmq.settings import client_setting, confirm_window
from brokerlab.brokers.rabbitmq.settling import Settling
from brokerlab.brokers.rabbitmq.unconfirmed import Unconfirmed
from brokerlab.brokers.rabbitmq.wire import addresses_from
from brokerlab.errors import BrokerError
from brokerlab.model.blocks import ACKNOWLEDGED, REJECTED, UNKNOWN, Block, Int64s, Settlements
from brokerlab.model.plan import AgentPlan

RECONNECT_EVERY_S = 0.2
RECONNECT_S = 2.0  # for connecting and shaking hands: a caller must not wait long


class AmqpProducer:
    """See brokers.contract.Producer. A lost connection makes what is open unknown, and is made anew."""

    def __init__(self, plan: AgentPlan, number: int) -> None:
        assert plan.producers is not None
        self.path = f"{PATH}, confirm window {confirm_window(plan.producers)}"
        self._endpoint = plan.endpoint
        self._name = f"{plan.agent}-{number}"
        self._address = number
        self._pending_bytes = client_setting(plan, "pending_bytes")
        self._routes = [(d, routing_key(p)) for d in plan.destinations for p in range(plan.partitions)]
        self._settling = Settling()
        self._returned: dict[int, str] = {}
        self._return: tuple[int, str] | None = None  # a basic.return whose header has not come yet
        self._retry_at = 0.0
        self._link: AmqpLink | None = None
        try:
            self._use(open_link(self._endpoint, self._name, number))
        except OSError as e:
            raise BrokerError(f"RabbitMQ does not confirm publishing: {e}") from e

    def _use(self, link: AmqpLink) -> None:
        link.on_frames, link.on_method = self._on_frames, self._on_method
        self._unconfirmed = Unconfirmed()
        self._encoder = PublishEncoder(self._routes, link.frame_max)
        try:
            link.call(spec.Confirm.Select(), RECONNECT_S)
        except OSError:
            link.abandon()
            raise
        self._link = link

    def send(self, block: Block) -> int:
        link = self._link
        if len(block) == 0 or link is None or link.blocked:
            return 0
        room = self._pending_bytes - link.unsent_bytes
        if room <= 0:
            return 0
        sizes = np.cumsum(block.lengths + self._encoder.overhead_bytes, dtype=np.int64)
        count = max(1, int(np.searchsorted(sizes, room, side="right")))
        some = block
        if count < len(block):
            some = Block(
                block.buffer, block.offsets[:count], block.lengths[:count], block.partitions[:count], block.first_index
            )
        data = self._encoder.encode(some)
        self._unconfirmed.add(some.first_index, len(some))
        try:
            link.write(data)
        except OSError as e:
            self._lose(e)
        return len(some)

    def settled(self) -> Settlements:
        if self._link is None:
            self._reconnect()
        else:
            try:
                self._link.pump()
            except OSError as e:
                self._lose(e)
        return self._settling.take()

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
        """A message that came back is confirmed as well: nobody wants it, and that is final."""
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
        said = f"closed by the server: {error}" if isinstance(error, ClosedByServerError) else "connection lost"
        self._settling.add(self._unconfirmed.confirm_all(), UNKNOWN, said)
        self._returned.clear()
        self._return = None
        if self._link is not None:
            self._link.abandon()
        self._link = None
        self._retry_at = time.monotonic() + RECONNECT_EVERY_S

    def _reconnect(self) -> None:
        """One address at a time, so that the caller does not wait for all of them."""
        if time.monotonic() < self._retry_at:
            return
        self._retry_at = time.monotonic() + RECONNECT_EVERY_S
        self._address += 1
        address = addresses_from(self._endpoint, self._address)[0]
        try:
            self._use(AmqpLink(address, self._endpoint.security, self._name, RECONNECT_S))
        except (OSError, AMQPError):
            self._retry_at = time.monotonic() + RECONNECT_EVERY_S

    def close(self, deadline_mono_ns: int) -> None:
        if self._link is not None:
            self._link.close(deadline_mono_ns)
            self._link = None
            self._retry_at = float("inf")
