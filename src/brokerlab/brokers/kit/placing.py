"""Which address of an endpoint has which partitions, and drivers for each address that has some."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from zlib import crc32

from brokerlab.brokers.kit.reconnecting import ReconnectingConsumer, ReconnectingProducer
from brokerlab.brokers.kit.spread import SpreadConsumer, SpreadProducer
from brokerlab.model.plan import AgentPlan, Endpoint

AnyProducer = ReconnectingProducer[Any]
AnyConsumer = ReconnectingConsumer[Any, Any]
Queues = list[tuple[str, int]]  # destinations, and numbers of partitions at an address


def place(destination: str, partition: int, addresses: int) -> tuple[int, int]:
    """At which of so many addresses a partition is, and its number among those of its destination there. Destinations do
    not all begin at the same address."""
    return (crc32(destination.encode()) + partition) % addresses, partition // addresses


def count_at(address: int, destination: str, partitions: int, addresses: int) -> int:
    """How many partitions of the destination are at this address."""
    return sum(place(destination, partition, addresses)[0] == address for partition in range(partitions))


@dataclass(frozen=True)
class Places:
    """Of all partitions of a plan, by their numbers: addresses, and destinations with the number there."""

    owners: list[int]
    queues: list[tuple[str, int]]

    @classmethod
    def of(cls, plan: AgentPlan) -> Places:
        numbered = [(destination, p) for destination in plan.destinations for p in range(plan.partitions)]
        placed = [place(destination, p, len(plan.endpoint.addresses)) for destination, p in numbered]
        names = (destination for destination, _ in numbered)
        return cls(
            [owner for owner, _ in placed], [(name, number) for name, (_, number) in zip(names, placed, strict=True)]
        )


def endpoint_at(endpoint: Endpoint, address: str) -> Endpoint:
    return endpoint.model_copy(update={"addresses": (address,)})


def plan_at(plan: AgentPlan, address: int) -> AgentPlan:
    """The plan of a driver that knows this one of the endpoint's addresses."""
    return plan.model_copy(update={"endpoint": endpoint_at(plan.endpoint, plan.endpoint.addresses[address])})


def spread_producer(
    make: Callable[[AgentPlan, int, Queues], AnyProducer], plan: AgentPlan, number: int
) -> AnyProducer | SpreadProducer:
    """`make` gets the queues of all partitions by their numbers."""
    places = Places.of(plan)
    used = sorted(set(places.owners))
    made = [make(plan_at(plan, address), number, places.queues) for address in used]
    server_of = [used.index(owner) for owner in places.owners]
    return made[0] if len(made) == 1 else SpreadProducer(made, server_of, made[0].path)


def spread_consumer(
    make: Callable[[AgentPlan, int, Queues], AnyConsumer], plan: AgentPlan, number: int
) -> AnyConsumer | SpreadConsumer:
    """Consumer n of a group of m reads every m-th partition, beginning with the n-th; `make` gets those at its address."""
    assert plan.consumers is not None
    places, members = Places.of(plan), plan.consumers.per_group
    share = range(len(places.owners))[number % members :: members]
    used = sorted({places.owners[p] for p in share}) or [0]
    queues = {address: [places.queues[p] for p in share if places.owners[p] == address] for address in used}
    made = [make(plan_at(plan, address), number, queues[address]) for address in used]
    return made[0] if len(made) == 1 else SpreadConsumer(made, made[0].path)
