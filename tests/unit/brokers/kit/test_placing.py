"""Which address has which partitions."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest

from brokerlab.brokers.kit.placing import count_at, place, spread_consumer, spread_producer
from brokerlab.brokers.kit.spread import SpreadProducer


@pytest.mark.parametrize("addresses", [1, 2, 3])
@pytest.mark.parametrize("partitions", [1, 2, 3, 7, 12])
def test_every_partition_has_one_place_and_the_numbers_at_an_address_have_no_gaps(
    partitions: int, addresses: int
) -> None:
    for name in ("a", "orders", "bl-1"):
        placed = [place(name, partition, addresses) for partition in range(partitions)]
        assert len(set(placed)) == partitions
        for address in range(addresses):
            there = sorted(number for owner, number in placed if owner == address)
            assert there == list(range(count_at(address, name, partitions, addresses)))
        counts = Counter(owner for owner, _ in placed)
        assert max(counts.values()) - min(counts.get(a, 0) for a in range(addresses)) <= 1


def test_destinations_with_one_partition_do_not_all_lie_at_one_address() -> None:
    assert {place(f"d{number}", 0, 3)[0] for number in range(20)} == {0, 1, 2}


class Made:
    """Stands for a driver."""

    path = "fake"


class Endpoint(SimpleNamespace):
    def model_copy(self, update: dict[str, Any]) -> Endpoint:
        return Endpoint(**{**self.__dict__, **update})


def plan(addresses: int, partitions: int, members: int) -> Any:
    names = tuple(f"a:{number}" for number in range(addresses))
    return Endpoint(
        endpoint=Endpoint(addresses=names),
        destinations=("d",),
        partitions=partitions,
        consumers=SimpleNamespace(per_group=members),
    )


@pytest.mark.parametrize("addresses", [1, 3])
@pytest.mark.parametrize("members", [1, 2, 5])
def test_consumers_of_a_group_share_all_queues_and_each_knows_where_its_own_are(addresses: int, members: int) -> None:
    asked: list[tuple[str, str, int]] = []

    def make(part: Any, _number: int, queues: list[tuple[str, int]]) -> Any:
        (address,) = part.endpoint.addresses
        asked.extend((address, *queue) for queue in queues)
        return Made()

    for number in range(members):
        spread_consumer(make, plan(addresses, 7, members), number)
    placed = [place("d", partition, addresses) for partition in range(7)]
    assert sorted(asked) == sorted((f"a:{owner}", "d", queue) for owner, queue in placed)


def test_where_all_partitions_are_at_one_address_there_is_one_driver_and_nothing_around_it() -> None:
    made: Any = lambda *_: Made()  # noqa: E731
    alone = spread_producer(made, plan(3, 1, 1), 0)
    assert isinstance(alone, Made)
    assert isinstance(spread_producer(made, plan(3, 3, 1), 0), SpreadProducer)
