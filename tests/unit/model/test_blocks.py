from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from brokerlab.model.blocks import Block


def block(offsets: list[int], lengths: list[int]) -> Block:
    buffer = (np.arange(400) % 251).astype(np.uint8)
    n = len(offsets)
    return Block(buffer, np.array(offsets, np.int64), np.array(lengths, np.int32), np.zeros(n, np.int32), 0)


@given(st.lists(st.tuples(st.integers(0, 300), st.integers(1, 100)), max_size=20))
def test_payloads_are_the_bytes_at_their_offsets(places: list[tuple[int, int]]) -> None:
    made = block([o for o, _ in places], [n for _, n in places])
    assert made.payloads() == [bytes(made.buffer[o : o + n]) for o, n in places]


def test_equal_lengths_at_uneven_offsets_are_not_taken_for_even_ones() -> None:
    made = block([0, 4, 12], [4, 4, 4])
    assert made.payloads() == [bytes(made.buffer[o : o + 4]) for o in (0, 4, 12)]


def test_trailing_zeros_stay() -> None:
    made = Block(np.zeros(16, np.uint8), np.array([0, 8]), np.array([8, 8], np.int32), np.zeros(2, np.int32), 0)
    assert made.payloads() == [bytes(8), bytes(8)]
