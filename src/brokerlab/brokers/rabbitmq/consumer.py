"""Receiving from classic and quorum queues by AMQP 0.9.1."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from pika import spec

from brokerlab.brokers.kit.arrived import Arrived
from brokerlab.brokers.kit.reconnecting import ReconnectingConsumer
from brokerlab.brokers.rabbitmq.amqp import PATH, AmqpLink, ClosedByServerError
from brokerlab.brokers.rabbitmq.deliveries import DeliveryReader
from brokerlab.brokers.rabbitmq.frames import ack_frames, ack_up_to
from brokerlab.brokers.rabbitmq.names import group_queue
from brokerlab.brokers.rabbitmq.settings import RabbitSettings, client_setting, kind_of
from brokerlab.brokers.rabbitmq.topology import declare_group
from brokerlab.errors import BrokerError
from brokerlab.model.blocks import Deliveries, Int64s
from brokerlab.model.plan import AgentPlan

NOT_FOUND = 404


class NoSuchQueueError(BrokerError):
    """A queue of the group does not exist."""


@dataclass(frozen=True)
class Token:
    """What `acknowledge` needs: tags mean something on the connection they came by only."""

    link: AmqpLink
    tags: Int64s


class AmqpConsumer(ReconnectingConsumer[AmqpLink, Arrived]):
    """See brokers.contract.Consumer."""

    link_class = AmqpLink
    path = PATH

    def __init__(self, plan: AgentPlan, number: int) -> None:
        super().__init__(plan, number)
        self._prefetch = client_setting(plan, "prefetch")
        self._queues = [group_queue(d, self._group, p) for d in plan.destinations for p in range(plan.partitions)]
        try:
            self._start_reading()
        except NoSuchQueueError:
            self._make_group(plan)
            self._start_reading()

    def _make_group(self, plan: AgentPlan) -> None:
        """A group that was not made with its destination begins with what is published from now on."""
        settings = RabbitSettings(kind_of(plan.broker), len(plan.endpoint.addresses), {})
        link = self._open()
        try:
            for destination in plan.destinations:
                declare_group(link, destination, self._group, plan.partitions, settings)
        except OSError as e:
            raise BrokerError(f"the group {self._group} cannot be made: {e}", hint="does the destination exist?") from e
        finally:
            link.close(time.monotonic_ns() + 5_000_000_000)

    def _begin(self, link: AmqpLink) -> None:
        self._reader = DeliveryReader(self._arrived)
        self._acknowledged = 0  # the tag up to which all are
        self._ahead: set[int] = set()  # tags above it that are as well
        link.on_frames, link.on_method = self._reader.read, self._on_method
        try:
            link.call(spec.Basic.Qos(0, self._prefetch, False))
            for number, queue in enumerate(self._queues):
                link.call(spec.Basic.Consume(queue=queue, consumer_tag=f"{number:05d}", no_ack=self._automatic))
        except ClosedByServerError as e:
            if e.code != NOT_FOUND:
                raise
            raise NoSuchQueueError(f"the group {self._group} cannot be read: {e}") from e

    def _on_method(self, told: Any) -> None:
        if isinstance(told, spec.Basic.Cancel):
            raise OSError("the server has cancelled the subscription")

    def _hand_out(self, most: int) -> Deliveries:
        """From one chunk only: all its messages came with one read."""
        assert self._link is not None
        some, rest = self._arrived.popleft().split(most)
        if rest is not None:
            self._arrived.appendleft(rest)
        return some.deliveries(Token(self._link, some.numbers))

    def acknowledge(self, deliveries: Deliveries) -> None:
        token = deliveries.token
        if self._automatic or not isinstance(token, Token) or token.link is not self._link or len(token.tags) == 0:
            return
        tags = token.tags
        first, last = int(tags[0]), int(tags[-1])
        try:
            if not self._ahead and first == self._acknowledged + 1 and last - first + 1 == len(tags):
                token.link.write(ack_up_to(last))
                self._acknowledged = last
            else:
                token.link.write(ack_frames(tags))
                self._ahead.update(tags.tolist())
                while self._acknowledged + 1 in self._ahead:
                    self._acknowledged += 1
                    self._ahead.discard(self._acknowledged)
        except OSError:
            self._lose()

    def remaining(self) -> int | None:
        """Ready messages, which the broker counts exactly when asked by queue.declare, and what we hold ourselves."""
        if self._link is None:
            return None
        try:
            ready = [self._ready(self._link, queue) for queue in self._queues]
            # What a queue sent before it answered may reach us behind that answer, but not behind a second one.
            self._ready(self._link, self._queues[-1])
        except OSError:
            self._lose()
            return None
        held = sum(len(chunk) for chunk in self._arrived)
        if not self._automatic:
            held = self._reader.last_tag - self._acknowledged - len(self._ahead)
        return sum(ready) + held

    @staticmethod
    def _ready(link: AmqpLink, queue: str) -> int:
        return int(link.call(spec.Queue.Declare(queue=queue, passive=True)).message_count)
