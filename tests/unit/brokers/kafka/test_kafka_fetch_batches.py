"""Record batches in C: what Kafka encodes is read, what is damaged is found, and nothing outside is ever touched."""

from __future__ import annotations

import ctypes
import mmap
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kafka_frames import Record, batch, crc32c, plain

from brokerlab.native import library, why_not
from brokerlab.native.loader import address

pytestmark = pytest.mark.skipif(library() is None, reason=f"no C library: {why_not()}")

READABLE, UNSUPPORTED, DAMAGED = 0, 1, 2
PAGES = 16


class Guarded:
    """Memory whose end is the end of what may be touched: one byte further is a crash, not a wrong result."""

    def __init__(self) -> None:
        page = mmap.PAGESIZE
        self._memory = mmap.mmap(-1, (PAGES + 1) * page)
        self.end = ctypes.addressof(ctypes.c_char.from_buffer(self._memory)) + PAGES * page
        libc = ctypes.CDLL(None, use_errno=True)
        libc.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
        assert libc.mprotect(self.end, page, 0) == 0

    def put(self, data: bytes) -> int:
        assert len(data) <= PAGES * mmap.PAGESIZE
        ctypes.memmove(self.end - len(data), data, len(data))
        return self.end - len(data)


GUARDED = Guarded()


def read(
    data: bytes, *, check: bool = True, wanted: int = 0, most: int = 256
) -> tuple[int, list[tuple[int, bytes]], bool]:
    """Verdict, messages as (offset, value), whether the batch is damaged within."""
    lib = library()
    assert lib is not None
    start = GUARDED.put(data)
    addresses, lengths = np.zeros(most, np.uint64), np.zeros(most, np.int32)
    offsets, about = np.zeros(most, np.int64), np.zeros(2, np.int64)
    columns = [address(a) for a in (addresses, lengths, offsets)]
    verdict = lib.bl_batch_read(start, len(data), check, wanted, *columns, most, address(about))
    n = int(about[0])
    for a, size in zip(addresses[:n].tolist(), lengths[:n].tolist(), strict=True):
        assert start <= a <= a + size <= GUARDED.end
    values = [ctypes.string_at(int(a), int(s)) for a, s in zip(addresses[:n], lengths[:n], strict=True)]
    return verdict, list(zip(offsets[:n].tolist(), values, strict=True)), bool(about[1])


def summed(data: bytes, portable: bool) -> int:
    lib = library()
    assert lib is not None
    return int(lib.bl_crc32c(GUARDED.put(data), len(data), portable))


@pytest.mark.parametrize("portable", [True, False])
def test_the_checksum_is_crc32c(portable: bool) -> None:
    assert summed(b"123456789", portable) == 0xE3069283
    assert summed(b"", portable) == 0
    assert summed(bytes(32), portable) == 0x8A9136AA  # from RFC 3720
    noise = random.Random(1).randbytes(5000)
    for size in (*range(70), 511, 512, 1535, 1536, 1537, 3071, 3072, 3080, 5000):
        assert summed(noise[:size], portable) == crc32c(noise[:size]), size


@settings(deadline=None)
@given(st.binary(max_size=9000))
def test_instruction_and_table_agree(data: bytes) -> None:
    assert summed(data, False) == summed(data, True)


records = st.builds(
    Record,
    value=st.none() | st.binary(max_size=300),
    key=st.none() | st.binary(max_size=20),
    headers=st.lists(st.tuples(st.binary(max_size=5), st.none() | st.binary(max_size=5)), max_size=3).map(tuple),
    timestamp_delta=st.integers(-(2**62), 2**62),
)


@settings(deadline=None)
@given(st.integers(0, 2**62), st.lists(records, max_size=40), st.integers(0, 50), st.data())
def test_whatever_kafka_encodes_is_read_back(base: int, made: list[Record], skipped: int, data: st.DataObject) -> None:
    gaps = data.draw(st.lists(st.integers(1, 300), min_size=len(made), max_size=len(made)))
    deltas = np.cumsum([0, *gaps])[:-1].tolist() if made else []  # compaction leaves gaps
    made = [Record(r.value, r.key, r.headers, r.timestamp_delta, d) for r, d in zip(made, deltas, strict=True)]
    wanted = base + skipped
    expected = [(base + d, r.value or b"") for r, d in zip(made, deltas, strict=True) if base + d >= wanted]
    assert read(batch(base, made, last=20_000), wanted=wanted) == (READABLE, expected, False)


def test_no_more_than_asked_are_given() -> None:
    assert read(plain(5, b"x", b"y", b"z"), most=2) == (READABLE, [(5, b"x"), (6, b"y")], False)


def test_control_batches_hold_no_messages() -> None:
    assert read(batch(7, [Record(b"\0\0\0\0\0\0", b"\0\0\0\1")], attributes=0x30)) == (READABLE, [], False)


@pytest.mark.parametrize("codec", [1, 2, 3, 4])
def test_compression_is_not_read_but_said(codec: int) -> None:
    assert read(batch(7, [Record(b"x")], attributes=codec))[0] == UNSUPPORTED


@pytest.mark.parametrize("magic", [0, 1])
def test_old_formats_are_not_read_but_said(magic: int) -> None:
    assert read(batch(7, [Record(b"x")], magic=magic))[0] == UNSUPPORTED


def test_the_checksum_finds_every_flipped_byte() -> None:
    good = plain(3, b"first", b"second")
    for at in range(17, len(good)):
        bad = good[:at] + bytes([good[at] ^ 0x10]) + good[at + 1 :]
        assert read(bad)[0] == DAMAGED, at


SAMPLE = batch(9, [Record(b"v" * 100, b"key", ((b"h", b"x"),), 5), *[Record(b"w" * n) for n in range(0, 200, 20)]])


def test_a_batch_cut_anywhere_gives_what_is_whole_and_says_that_it_is_damaged() -> None:
    everything = read(SAMPLE)[1]
    for cut in range(len(SAMPLE)):
        verdict, found, damaged = read(SAMPLE[:cut], check=False)
        assert verdict == DAMAGED or damaged, cut
        assert found == everything[: len(found)], cut


@settings(deadline=None, max_examples=400)
@given(st.lists(st.tuples(st.integers(0, len(SAMPLE) - 1), st.integers(0, 255)), min_size=1, max_size=8))
def test_whatever_a_batch_says_nothing_outside_it_is_touched(changes: list[tuple[int, int]]) -> None:
    mutated = bytearray(SAMPLE)
    for at, byte in changes:
        mutated[at] = byte
    read(bytes(mutated), check=False)


def test_lengths_that_lie_are_damage() -> None:
    at = SAMPLE.index(b"w" * 20) - 1
    for lie in (0xFF, 0x7F, 0x01):
        verdict, found, damaged = read(SAMPLE[:at] + bytes([lie]) + SAMPLE[at + 1 :], check=False)
        assert verdict == READABLE
        assert damaged or found != read(SAMPLE)[1]
