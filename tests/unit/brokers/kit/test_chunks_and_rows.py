"""Messages between the wire and the engine: none is lost, doubled or changed on the way."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerlab.brokers.kit.arrived import Arrived, readable, starts_of
from brokerlab.brokers.kit.rows import joined_rows

bodies = st.lists(st.binary(min_size=1, max_size=30), min_size=1, max_size=20)


def arrived(messages: list[bytes]) -> Arrived:
    lengths = np.array([len(m) for m in messages], np.int32)
    numbers = np.arange(len(messages), dtype=np.int64)
    again = (numbers % 2).astype(np.uint8)
    return Arrived(readable(b"".join(messages)), starts_of(lengths), lengths, numbers + 50, again, numbers, 7)


@given(bodies, st.lists(st.integers(1, 5), min_size=20, max_size=20))
def test_what_arrived_is_handed_out_whole_however_it_is_cut(messages: list[bytes], most: list[int]) -> None:
    rest: Arrived | None = arrived(messages)
    found: list[tuple[bytes, int, int]] = []
    for count in most:
        if rest is None:
            break
        some, rest = rest.split(count)
        given_out = some.deliveries("token")
        assert len(given_out) <= count
        assert (given_out.token, given_out.arrived_mono_ns) == ("token", 7)
        columns = (given_out.addresses, given_out.lengths, given_out.positions, given_out.redelivered)
        for address, length, position, again in zip(*(c.tolist() for c in columns), strict=True):
            found.append((ctypes.string_at(address, length), position, again))
    wanted = [(m, 50 + i, i % 2) for i, m in enumerate(messages)]
    assert found == wanted[: len(found)]
    assert rest is None or len(found) + len(rest) == len(messages)


@given(st.integers(1, 10), st.integers(1, 8), st.binary(max_size=5), st.binary(max_size=5))
def test_rows_are_joined_with_what_is_the_same_in_all(count: int, width: int, before: bytes, after: bytes) -> None:
    rows = np.arange(count * width, dtype=np.uint8).reshape(count, width)
    assert joined_rows(before, rows, after) == b"".join(before + row.tobytes() + after for row in rows)


def test_rows_of_different_numbers_do_not_join() -> None:
    with pytest.raises(ValueError, match="broadcast"):
        joined_rows(np.zeros((3, 1), np.uint8), np.zeros((2, 1), np.uint8))
