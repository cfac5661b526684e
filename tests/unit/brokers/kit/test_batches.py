"""Blocks cut into batches."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from brokerlab.brokers.kit.batches import BatchLimits, batches_of

LIMITS = BatchLimits(messages=3, size_bytes=10)


def places(partitions: list[int], sizes: list[int], most: int) -> list[tuple[int, list[int]]]:
    return [(batch.partition, batch.places) for batch in batches_of(partitions, sizes, LIMITS, most)]


def test_each_partition_has_batches_of_its_own() -> None:
    assert places([0, 1, 0, 1], [1, 1, 1, 1], 9) == [(0, [0, 2]), (1, [1, 3])]


def test_a_batch_has_limits_in_messages_and_bytes_and_one_message_always_fits() -> None:
    assert places([0] * 4, [1] * 4, 9) == [(0, [0, 1, 2]), (0, [3])]
    assert places([0] * 3, [6, 5, 5], 9) == [(0, [0]), (0, [1, 2])]
    assert places([0, 0], [99, 1], 9) == [(0, [0]), (0, [1])]


def test_it_ends_with_the_first_message_for_which_no_batch_is_left() -> None:
    assert places([0, 0, 1, 0], [1, 1, 1, 1], 1) == [(0, [0, 1])]
    assert places([0], [1], 0) == []


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 12)), max_size=40), st.integers(0, 6))
def test_batches_hold_the_first_messages_each_once_in_order(messages: list[tuple[int, int]], most: int) -> None:
    partitions, sizes = [p for p, _ in messages], [s for _, s in messages]
    made = batches_of(partitions, sizes, LIMITS, most)
    taken = sorted(place for batch in made for place in batch.places)
    assert taken == list(range(len(taken)))
    assert len(made) <= most
    for batch in made:
        assert batch.places == sorted(batch.places)
        assert {partitions[place] for place in batch.places} == {batch.partition}
        assert len(batch.places) <= LIMITS.messages
        total = sum(sizes[place] for place in batch.places)
        assert total <= LIMITS.size_bytes or len(batch.places) == 1
