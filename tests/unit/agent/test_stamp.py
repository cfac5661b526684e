"""Stamped messages are numbered by lane, intact by their own checksum, and the same in C and numpy."""

from __future__ import annotations

import numpy as np
import pytest

from brokerlab.agent.payload import PayloadPool
from brokerlab.agent.stamp import NativeStamper, NumpyStamper, Stamper
from brokerlab.model.header import HEADER, HEADER_BYTES, checksum
from brokerlab.model.plan import KeysPlan, PayloadPlan, SizeShare
from brokerlab.native import library

MIX = PayloadPlan(sizes=(SizeShare(message_bytes=61, weight=1), SizeShare(message_bytes=200, weight=2)))


def pool() -> PayloadPool:
    return PayloadPool(
        MIX, KeysPlan(count=50), partitions=5, seed=3, producer=2, run_tag=0xDEADBEEF, pool_bytes=1 << 16
    )


def messages(stamper_class: type[Stamper], blocks: int = 3) -> list[bytes]:
    made = pool()
    stamper = stamper_class(made, 5)  # type: ignore[call-arg]
    out, index = [], 0
    for _ in range(blocks):
        slot, n = made.take(40)
        stamper.stamp(slot, index, np.arange(index, index + n, dtype=np.int64) * 1000, 7_000_000 + index, 0)
        if index:  # the client took all but three of this block
            stamper.take_back(n - 3)
            n -= 3
        index += n
        for i in range(slot, slot + n):
            out.append(made.buffer[made.offsets[i] : made.offsets[i] + made.lengths[i]].tobytes())
    return out


STAMPERS = [NumpyStamper, *([NativeStamper] if library() is not None else [])]


@pytest.mark.parametrize("stamper_class", STAMPERS)
def test_every_stamped_message_carries_its_own_right_checksum(stamper_class: type[Stamper]) -> None:
    for message in messages(stamper_class):
        header = np.frombuffer(message[:HEADER_BYTES], HEADER)[0]
        assert header["checksum"] == checksum(message)
        assert header["length"] == len(message)
        assert (header["run_tag"], header["producer"]) == (0xDEADBEEF, 2)


@pytest.mark.parametrize("stamper_class", STAMPERS)
def test_sequences_of_a_lane_have_no_gaps_even_where_a_block_was_taken_in_part(stamper_class: type[Stamper]) -> None:
    seen: dict[int, list[int]] = {}
    for message in messages(stamper_class):
        header = np.frombuffer(message[:HEADER_BYTES], HEADER)[0]
        seen.setdefault(int(header["partition"]), []).append(int(header["sequence"]))
    assert len(seen) == 5
    assert all(numbers == list(range(len(numbers))) for numbers in seen.values())


@pytest.mark.skipif(library() is None, reason="no C library to compare with")
def test_both_stampers_write_the_same_bytes() -> None:
    assert messages(NativeStamper) == messages(NumpyStamper)


@pytest.mark.parametrize("at", [0, 3, 9, 20, 31, 33, 39, 40, 47, 48, 60])
def test_one_changed_byte_anywhere_changes_the_checksum(at: int) -> None:
    message = bytearray(messages(NumpyStamper, 1)[0])
    before = checksum(bytes(message))
    message[at] ^= 0x10
    in_its_own_word = 32 <= at < 40
    assert (checksum(bytes(message)) == before) is in_its_own_word
