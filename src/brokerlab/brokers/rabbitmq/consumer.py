"""Receiving from classic and quorum queues by AMQP 0.9.1."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass
from typing import Any

from pika import spec
from pika.exceptions import AMQPError

from brokerlab.brokers.rabbitmq.amqp import PATH, AmqpLink, ClosedByServerError, open_link
from brokerlab.brokers.rabbitmq.deliveries import Arrived, DeliveryReader
from brokerlab.brokers.rabbitmq.frames import ack_frames, ack_up_to
from brokerlab.brokers.rabbitmq.names import group_queue
from brokerlab.brokers.rabbitmq.settings import RabbitSettings, client_setting, kind_of
from brokerlab.brokers.rabbitmq.topology import declare_group
from brokerlab.brokers.rabbitmq.wire import addresses_from
from brokerlab.errors import BrokerError
from brokerlab.model.blocks import Deliveries, Int64s, no_deliveries
from brokerlab.model.plan import AgentPlan

RECONNECT_EVERY_S = 0.2
RECONNECT_S = 2.0
GIVE_UP_S = 30.0
NOT_FOUND = 404


class NoSuchQueueError(BrokerError):
    """A queue of the group does not exist."""


@dataclass(frozen=True)
class Token:
    """What `acknowledge` needs: tags mean something on the connection they came by only."""

    link: AmqpLink
    tags: Int64s


class AmqpConsumer:
    """See brokers.contract.Consumer. A lost connection is made anew; what was not acknowledged then comes again."""

    path = PATH

    def __init__(self, plan: AgentPlan, number: int) -> None:
        assert plan.consumers is not None
        assert plan.group is not None
        self._endpoint = plan.endpoint
        self._name = f"{plan.agent}-{number}"
        self._address = number
        self._prefetch = client_setting(plan, "prefetch")
        self._automatic = plan.consumers.acknowledge == "automatic"
        self._group = plan.group
        self._queues = [group_queue(d, plan.group, p) for d in plan.destinations for p in range(plan.partitions)]
        self._arrived: deque[Arrived] = deque()
        self._lost_at: float | None = None
        self._retry_at = 0.0
        self._link: AmqpLink | None = None
        if not self._try_subscribing():
            self._make_group(plan)
            self._subscribe(open_link(self._endpoint, self._name, number))

    def _try_subscribing(self) -> bool:
        """Whether the group's queues exist."""
        try:
            self._subscribe(open_link(self._endpoint, self._name, self._address))
        except NoSuchQueueError:
            return False
        return True

    def _make_group(self, plan: AgentPlan) -> None:
        """A group that was not made with its destination begins with what is published from now on."""
        settings = RabbitSettings(kind_of(plan.broker), len(plan.endpoint.addresses), {})
        link = open_link(self._endpoint, self._name, self._address)
        try:
            for destination in plan.destinations:
                declare_group(link, destination, self._group, plan.partitions, settings)
        except OSError as e:
            raise BrokerError(f"the group {self._group} cannot be made: {e}", hint="does the destination exist?") from e
        finally:
            link.close(time.monotonic_ns() + 5_000_000_000)

    def _subscribe(self, link: AmqpLink) -> None:
        self._reader = DeliveryReader(self._arrived)
        self._acknowledged = 0  # the tag up to which all are
        self._ahead: set[int] = set()  # tags above it that are as well
        link.on_frames, link.on_method = self._reader.read, self._on_method
        try:
            link.call(spec.Basic.Qos(0, self._prefetch, False))
            for number, queue in enumerate(self._queues):
                link.call(spec.Basic.Consume(queue=queue, consumer_tag=f"{number:05d}", no_ack=self._automatic))
        except OSError as e:
            link.abandon()
            missing = isinstance(e, ClosedByServerError) and e.code == NOT_FOUND
            said = f"the group {self._group} cannot be read: {e}"
            raise (NoSuchQueueError(said) if missing else BrokerError(said)) from e
        self._link, self._lost_at = link, None

    def _on_method(self, told: Any) -> None:
        if isinstance(told, spec.Basic.Cancel):
            raise OSError("the server has cancelled the subscription")

    def receive(self, most: int, deadline_mono_ns: int) -> Deliveries:
        while True:
            self._step()
            if self._arrived:
                return self._hand_out(most)
            left_s = (deadline_mono_ns - time.monotonic_ns()) / 1e9
            if left_s <= 0:
                return no_deliveries(time.monotonic_ns())
            if self._link is not None:
                self._link.wait(left_s)
            else:
                time.sleep(min(left_s, RECONNECT_EVERY_S))

    def _step(self) -> None:
        """Read what is there; heal the connection. Raises BrokerError when that has not worked for long."""
        if self._link is None:
            self._reconnect()
            return
        try:
            self._link.pump()
        except OSError:
            self._lose()

    def _lose(self) -> None:
        if self._link is not None:
            self._link.abandon()
        self._link = None
        self._arrived.clear()  # never seen by anyone, so they may as well come again
        self._lost_at = time.monotonic()
        self._retry_at = 0.0

    def _reconnect(self) -> None:
        now = time.monotonic()
        assert self._lost_at is not None
        if now < self._retry_at:
            return
        self._retry_at = now + RECONNECT_EVERY_S
        self._address += 1
        address = addresses_from(self._endpoint, self._address)[0]
        try:
            self._subscribe(AmqpLink(address, self._endpoint.security, self._name, RECONNECT_S))
        except (OSError, AMQPError, BrokerError) as e:
            if now - self._lost_at > GIVE_UP_S:
                raise BrokerError(f"the connection could not be made again for {GIVE_UP_S:.0f} s: {e}") from e

    def _hand_out(self, most: int) -> Deliveries:
        """From one chunk only: all its messages came with one read."""
        assert self._link is not None
        chunk = self._arrived[0]
        if len(chunk) <= most:
            self._arrived.popleft()
        else:
            chunk, self._arrived[0] = chunk.split(most)
        return chunk.deliveries(Token(self._link, chunk.tags))

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

    def close(self, deadline_mono_ns: int) -> None:
        """RabbitMQ gives what was not acknowledged back to its queue."""
        if self._link is not None:
            self._link.close(deadline_mono_ns)
            self._link = None
            self._lost_at = time.monotonic()
