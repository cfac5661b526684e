"""One producer or consumer over several servers, each of which has some of the partitions."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from brokerlab.brokers.kit.deadlines import seconds_until
from brokerlab.brokers.kit.link import Link
from brokerlab.brokers.kit.reconnecting import RECONNECT_EVERY_S, ReconnectingConsumer, ReconnectingProducer
from brokerlab.brokers.kit.wire import option_list
from brokerlab.errors import BrokerError
from brokerlab.model.blocks import Block, Deliveries, Settlements, no_deliveries
from brokerlab.model.plan import Endpoint

Item = TypeVar("Item")


def parts_of(endpoint: Endpoint, count: str, option: str) -> list[Endpoint]:
    """The endpoint of each of several equal parts of a cluster, whose nodes stand in a row: its addresses, and its share of
    the option that lists something for every node. The option `count` says how many parts; one where it is not given.
    Raises BrokerError where they do not divide."""
    addresses, listed, said = endpoint.addresses, option_list(endpoint, option), endpoint.options.get(count, "1")
    parts = int(said) if said.isdecimal() else 0
    if parts < 1 or len(addresses) % parts or len(listed) % parts:
        said = f"{len(addresses)} addresses, or the {len(listed)} of {option!r}, do not divide into {said!r} {count}"
        raise BrokerError(said, hint="give an address of every node, those that belong together in a row")
    each, of_option = len(addresses) // parts, len(listed) // parts
    made = []
    for i in range(parts):
        share = {option: ",".join(listed[i * of_option : (i + 1) * of_option])} if listed else {}
        own = {"addresses": addresses[i * each : (i + 1) * each], "options": {**endpoint.options, **share}}
        made.append(endpoint.model_copy(update=own))
    return made


def shared_out(
    items: Sequence[Item], parts: Sequence[Endpoint], part_of: Callable[[Item, int], int]
) -> list[tuple[Endpoint, list[Item]]]:
    """The parts that have some of the items, and which. `part_of` says which of so many parts has an item."""
    owned = [(part, [one for one in items if part_of(one, len(parts)) == i]) for i, part in enumerate(parts)]
    return [(part, own) for part, own in owned if own]


class SpreadProducer:
    """See brokers.contract.Producer. `server_of` says by the cell's partition numbers which of the producers is meant."""

    def __init__(self, producers: Sequence[ReconnectingProducer[Any]], server_of: Sequence[int], path: str) -> None:
        self.path = path
        self._producers = producers
        self._server_of = np.array(server_of)

    def send(self, block: Block) -> int:
        """Up to the first message that its server's producer does not take: the order of a lane is kept."""
        servers = self._server_of[block.partitions]
        taken = len(block)
        for number, producer in enumerate(self._producers):
            own = np.flatnonzero(servers == number)
            fits = producer.taking(block.part(servers == number)) if len(own) else 0
            if fits < len(own):
                taken = min(taken, int(own[fits]))
        some, servers = block.first(taken), servers[:taken]
        for number, producer in enumerate(self._producers):
            own = np.flatnonzero(servers == number)
            if len(own):
                producer.publish(some.part(servers == number), block.first_index + own)
        return taken

    def settled(self) -> Settlements:
        found = [producer.settled() for producer in self._producers]
        errors: dict[str, int] = {}
        for one in found:
            for kind, count in one.errors.items():
                errors[kind] = errors.get(kind, 0) + count
        return Settlements(
            np.concatenate([one.indices for one in found]),
            np.concatenate([one.outcomes for one in found]),
            np.concatenate([one.at_mono_ns for one in found]),
            errors,
        )

    def watched(self) -> list[tuple[int, bool]]:
        """None while a connection is missing: making it again needs to be asked for."""
        sockets = [producer.watched() for producer in self._producers]
        return [number for of_one in sockets for number in of_one] if all(sockets) else []

    def close(self, deadline_mono_ns: int) -> None:
        for producer in self._producers:
            producer.close(deadline_mono_ns)


@dataclass(frozen=True)
class _From:
    """Whose deliveries these are, as it gave them."""

    consumer: ReconnectingConsumer[Any, Any]
    deliveries: Deliveries


class SpreadConsumer:
    """See brokers.contract.Consumer. Each of the consumers receives from one server."""

    def __init__(self, consumers: Sequence[ReconnectingConsumer[Any, Any]], path: str) -> None:
        self.path = path
        self._consumers = deque(consumers)

    def receive(self, most: int, deadline_mono_ns: int) -> Deliveries:
        while True:
            for _ in range(len(self._consumers)):
                consumer = self._consumers[0]
                self._consumers.rotate(-1)  # no server is asked first always
                some = consumer.receive(most, 0)
                if len(some):
                    return replace(some, token=_From(consumer, some))
            left_s = seconds_until(deadline_mono_ns)
            if left_s <= 0:
                return no_deliveries(time.monotonic_ns())
            links = [consumer.link for consumer in self._consumers if consumer.link is not None]
            Link.wait_any(links, left_s if len(links) == len(self._consumers) else min(left_s, RECONNECT_EVERY_S))

    def acknowledge(self, deliveries: Deliveries) -> None:
        if isinstance(deliveries.token, _From):
            deliveries.token.consumer.acknowledge(deliveries.token.deliveries)

    def remaining(self) -> int | None:
        counts = [consumer.remaining() for consumer in self._consumers]
        known = [count for count in counts if count is not None]
        return sum(known) if len(known) == len(counts) else None

    def close(self, deadline_mono_ns: int) -> None:
        for consumer in self._consumers:
            consumer.close(deadline_mono_ns)
