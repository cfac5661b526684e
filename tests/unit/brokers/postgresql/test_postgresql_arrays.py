"""Binary arrays: written and read, compared with what psycopg itself writes."""

from __future__ import annotations

import numpy as np
import pytest
from psycopg.adapt import PyFormat, Transformer

from brokerlab.brokers.postgresql.arrays import (
    BYTEA,
    INT4,
    array,
    bytea_elements,
    int4_elements,
    int8_array,
    read_int4_array,
    read_int8_array,
)
from brokerlab.model.blocks import Block


def psycopg_writes(values: list[object]) -> bytes:
    written = Transformer().get_dumper(values, PyFormat.BINARY).dump(values)
    assert written is not None
    return bytes(written)


def block_of(payloads: list[bytes], gap: int = 0) -> Block:
    lengths = np.array([len(p) for p in payloads], np.int32)
    offsets = np.zeros(len(payloads), np.int64)
    np.cumsum(lengths[:-1] + gap, out=offsets[1:])
    buffer = np.frombuffer(bytes(gap).join(payloads), np.uint8)
    return Block(buffer, offsets, lengths, np.zeros(len(payloads), np.int32), 0)


@pytest.mark.parametrize("gap", [0, 3])
@pytest.mark.parametrize(
    "payloads",
    [[b"one"], [b"abc\0", b"\0def", b"ghi\0"], [b"a", b"bcd", b"", b"efghij"], [b"ab", b"ab", b"a"]],
)
def test_messages_are_written_as_psycopg_would(payloads: list[bytes], gap: int) -> None:
    written = array(BYTEA, len(payloads), bytea_elements(block_of(payloads, gap)))
    assert written == psycopg_writes(list(payloads))


def test_messages_of_one_size_in_no_regular_order_are_written_right() -> None:
    whole = block_of([b"aaaa", b"bbbb", b"cccc", b"dddd"])
    which = np.array([0, 1, 3])
    some = Block(whole.buffer, whole.offsets[which], whole.lengths[which], whole.partitions[which], 0)
    assert array(BYTEA, 3, bytea_elements(some)) == psycopg_writes([b"aaaa", b"bbbb", b"dddd"])


def test_numbers_come_back_as_they_went() -> None:
    small = np.array([0, 1, -1, 2**31 - 1], np.int32)
    assert (read_int4_array(array(INT4, 4, int4_elements(small))) == small).all()
    large = np.array([0, -1, 2**62], np.int64)
    assert (read_int8_array(int8_array(large)) == large).all()


def test_an_array_without_elements_has_no_dimension() -> None:
    assert int8_array(np.empty(0, np.int64))[:4] == bytes(4)
