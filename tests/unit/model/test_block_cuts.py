"""Cutting blocks: what is taken is what was there, keys and numbers included."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from brokerlab.model.blocks import Block

sizes = st.lists(st.integers(0, 50), min_size=1, max_size=20)


def block(lengths: list[int], gap: int = 0, keys: bool = True) -> Block:
    """Messages with so much room between them; message i is filled with i."""
    starts = np.cumsum([0, *(length + gap for length in lengths[:-1])]).astype(np.int64)
    buffer = np.zeros(int(starts[-1]) + lengths[-1] + 1, np.uint8)
    for i, (start, length) in enumerate(zip(starts.tolist(), lengths, strict=True)):
        buffer[start : start + length] = i
    n = len(lengths)
    numbers = np.arange(n, dtype=np.int32)
    return Block(buffer, starts, np.array(lengths, np.int32), numbers % 3, 100, numbers * 7 if keys else None)


@given(sizes, st.integers(0, 25))
def test_the_first_messages_of_a_block_are_a_block_of_the_same_messages(lengths: list[int], count: int) -> None:
    whole = block(lengths)
    some = whole.first(count)
    assert len(some) == min(count, len(lengths))
    assert some.first_index == whole.first_index
    assert some.payloads() == whole.payloads()[: len(some)]
    assert some.keys is not None
    assert whole.keys is not None
    assert some.keys.tolist() == whole.keys[: len(some)].tolist()


@given(sizes, st.integers(0, 300), st.integers(0, 20))
def test_as_many_fit_as_there_is_room_for_and_at_least_one(lengths: list[int], room: int, overhead: int) -> None:
    count = block(lengths).fitting(room, overhead)
    assert count == 1 or sum(lengths[:count]) + overhead * count <= room
    assert count == len(lengths) or sum(lengths[: count + 1]) + overhead * (count + 1) > room


@given(st.integers(1, 40), st.integers(1, 20), st.integers(0, 9))
def test_messages_of_one_size_are_rows_wherever_they_lie_at_equal_distances(size: int, count: int, gap: int) -> None:
    rows = block([size] * count, gap).rows()
    assert rows is not None
    assert rows.tolist() == [[i] * size for i in range(count)]


@given(sizes.filter(lambda lengths: len(set(lengths)) > 1))
def test_messages_of_several_sizes_are_no_rows_and_payloads_all_the_same(lengths: list[int]) -> None:
    mixed = block(lengths, keys=False)
    assert mixed.rows() is None
    assert mixed.payloads() == [bytes([i]) * length for i, length in enumerate(lengths)]
    assert mixed.first(1).keys is None
