"""Producers and consumers on a `Link` of their own: a lost connection is made again, whichever protocol they speak."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

import numpy as np

from brokerlab.brokers.kit.deadlines import seconds_until
from brokerlab.brokers.kit.link import Link, RefusedError
from brokerlab.brokers.kit.settling import Settling
from brokerlab.brokers.kit.unconfirmed import Unconfirmed
from brokerlab.errors import BrokerError
from brokerlab.model.blocks import UNKNOWN, Block, Deliveries, Int64s, Settlements, no_deliveries
from brokerlab.model.plan import AgentPlan

RECONNECT_EVERY_S = 0.2
RECONNECT_S = 2.0  # for connecting and shaking hands: a caller must not wait long
GIVE_UP_S = 30.0
NOT_YET_S = 60.0  # for what was just created to come to every node

AnyLink = TypeVar("AnyLink", bound=Link)
Part = TypeVar("Part")  # of what has arrived


class Reconnecting(ABC, Generic[AnyLink]):
    """Has one connection, or none from losing it until `_reconnect` has made it again."""

    link_class: type[AnyLink]

    def __init__(self, plan: AgentPlan, number: int) -> None:
        self._endpoint = plan.endpoint
        self._name = f"{plan.agent}-{number}"
        self._address = number  # which of the endpoint's addresses is connected to
        self._link: AnyLink | None = None
        self._retry_at = 0.0

    @property
    def link(self) -> AnyLink | None:
        """The connection, where there is one now."""
        return self._link

    @abstractmethod
    def _begin(self, link: AnyLink) -> None:
        """Whatever a new connection needs before it can be used. Raises OSError or BrokerError where that fails."""

    def _open(self) -> AnyLink:
        return self.link_class.open(self._endpoint, self._name, self._address)

    def _use(self, link: AnyLink) -> None:
        try:
            self._begin(link)
        except BaseException:
            link.abandon()
            raise
        self._link = link

    def _start(self, otherwise: str) -> None:
        """The first connection. What was created a moment ago may not have come to every node, whatever the broker told:
        while that is why it refuses, it is asked again. Raises BrokerError, which says `otherwise`, where it is of no
        use."""
        until = time.monotonic() + NOT_YET_S
        while True:
            try:
                self._use(self._open())
                return
            except OSError as e:
                not_yet = isinstance(e, RefusedError) and e.not_yet
                if not not_yet or time.monotonic() >= until:
                    raise BrokerError(f"{otherwise}: {e}") from e
            time.sleep(RECONNECT_EVERY_S)

    def _drop_link(self, retry_at: float) -> None:
        if self._link is not None:
            self._link.abandon()
        self._link = None
        self._retry_at = retry_at

    def _reconnect(self) -> OSError | BrokerError | None:
        """To the next address, when it is time for that; only one, so that the caller does not wait for all of them.
        Returns why it did not work."""
        if time.monotonic() < self._retry_at:
            return None
        self._address += 1
        try:
            address = self.link_class.addresses(self._endpoint, self._address)[0]
            self._use(self.link_class(address, self._endpoint.security, self._name, RECONNECT_S))
        except (OSError, BrokerError) as e:
            self._retry_at = time.monotonic() + RECONNECT_EVERY_S
            return e
        return None

    def watched(self) -> list[tuple[int, bool]]:
        """See brokers.contract.Watchable."""
        return [] if self._link is None else [self._link.watched()]

    def close(self, deadline_mono_ns: int) -> None:
        if self._link is not None:
            self._link.close(deadline_mono_ns)
        self._link = None
        self._retry_at = float("inf")


class ReconnectingProducer(Reconnecting[AnyLink]):
    """See brokers.contract.Producer. A lost connection makes what is open unknown, and is made again."""

    path: str
    _overhead_bytes: int  # of each message, beside its payload

    def __init__(self, plan: AgentPlan, number: int, pending_bytes: int) -> None:
        """More unsent bytes than `pending_bytes`, and `send` takes fewer messages or none."""
        super().__init__(plan, number)
        self._pending_bytes = pending_bytes
        self._settling = Settling()
        self._unconfirmed = Unconfirmed()

    def _room(self, link: AnyLink) -> int:
        """How many bytes may be sent now."""
        return self._pending_bytes - link.unsent_bytes

    @abstractmethod
    def _encode(self, block: Block) -> bytes | memoryview:
        """Frames for these messages, which will be sent: their numbers in the protocol are taken."""

    def send(self, block: Block) -> int:
        taken = self.taking(block)
        if taken:
            self.publish(block.first(taken), np.arange(block.first_index, block.first_index + taken))
        return taken

    def taking(self, block: Block) -> int:
        """How many of these `send` would take now."""
        if len(block) == 0 or self._link is None:
            return 0
        room = self._room(self._link)
        return min(len(block), block.fitting(room, self._overhead_bytes)) if room > 0 else 0

    def publish(self, block: Block, indices: Int64s) -> None:
        """Send messages with these numbers, no more than `taking` has just said."""
        assert self._link is not None
        data = self._encode(block)
        self._unconfirmed.add_numbers(indices)
        try:
            self._link.write(data)
        except OSError as e:
            self._lose(e)

    def settled(self) -> Settlements:
        if self._link is None:
            self._reconnect()
        else:
            try:
                self._link.pump()
                self._pumped(self._link)
            except OSError as e:
                self._lose(e)
        return self._settling.take()

    def _pumped(self, link: AnyLink) -> None:
        """What could be sent was sent: for protocols in which that settles a message."""

    def _lose(self, error: OSError) -> None:
        said = f"closed by the server: {error}" if isinstance(error, RefusedError) else "connection lost"
        self._settling.add(self._unconfirmed.confirm_all(), UNKNOWN, said)
        self._drop_link(time.monotonic() + RECONNECT_EVERY_S)


class ReconnectingConsumer(Reconnecting[AnyLink], Generic[AnyLink, Part]):
    """See brokers.contract.Consumer. A lost connection is made again; what was not acknowledged then comes again."""

    path: str

    def __init__(self, plan: AgentPlan, number: int) -> None:
        assert plan.consumers is not None
        assert plan.group is not None
        super().__init__(plan, number)
        self._group = plan.group
        self._outage_s = plan.outage_s
        self._automatic = plan.consumers.acknowledge == "automatic"
        self._arrived: deque[Part] = deque()
        self._lost_at = 0.0

    @abstractmethod
    def acknowledge(self, deliveries: Deliveries) -> None:
        """See brokers.contract.Consumer."""

    @abstractmethod
    def remaining(self) -> int | None:
        """See brokers.contract.Consumer."""

    @abstractmethod
    def _hand_out(self, most: int) -> Deliveries:
        """The first of what has arrived, which is not empty."""

    def _start_reading(self) -> None:
        self._start(otherwise=f"the group {self._group} cannot be read")

    def _use(self, link: AnyLink) -> None:
        try:
            super()._use(link)
        except (OSError, BrokerError):
            self._arrived.clear()  # some queues may have begun to send
            raise

    def receive(self, most: int, deadline_mono_ns: int) -> Deliveries:
        while True:
            self._step()
            if self._arrived:
                return self._hand_out(most)
            left_s = seconds_until(deadline_mono_ns)
            if left_s <= 0:
                return no_deliveries(time.monotonic_ns())
            if self._link is not None:
                self._link.wait(left_s)
            else:
                time.sleep(min(left_s, RECONNECT_EVERY_S))

    def _step(self) -> None:
        """Read what is there; heal the connection. Raises BrokerError when that has not worked for long."""
        if self._link is None:
            now = time.monotonic()
            error = self._reconnect()
            most_s = GIVE_UP_S + self._outage_s
            if error is not None and now - self._lost_at > most_s:
                raise BrokerError(f"the group {self._group} could not be read for {most_s:.0f} s: {error}") from error
            return
        try:
            self._link.pump()
        except OSError:
            self._lose()

    def _or_lose(self, action: Callable[[], None]) -> None:
        """Do what may find that the connection is lost."""
        try:
            action()
        except OSError:
            self._lose()

    def _lose(self) -> None:
        self._arrived.clear()  # never seen by anyone, so they may as well come again
        self._lost_at = time.monotonic()
        self._drop_link(retry_at=0.0)
