"""Slots whose sums, headers and sizes are what the engine and the checksum rely on."""

from __future__ import annotations

import zlib
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brokerlab.agent import payload as payload_module
from brokerlab.agent.payload import PayloadPool
from brokerlab.errors import MachineError
from brokerlab.model.header import HEADER, HEADER_BYTES, MAGIC, VERSION, checksum
from brokerlab.model.plan import KeysPlan, PayloadPlan, SizeShare


def pool_of(payload: PayloadPlan, keys: KeysPlan | None = None, **given_: int) -> PayloadPool:
    said = {"partitions": 4, "seed": 5, "producer": 3, "run_tag": 0xDEADBEEF, "pool_bytes": 1 << 18, **given_}
    return PayloadPool(payload, keys, **said)


def fixed(size: int, compressibility: float = 0.0) -> PayloadPlan:
    return PayloadPlan(sizes=(SizeShare(message_bytes=size, weight=1),), compressibility=compressibility)


def messages(pool: PayloadPool) -> list[bytes]:
    whole = pool.buffer.tobytes()
    return [whole[o : o + n] for o, n in zip(pool.offsets.tolist(), pool.lengths.tolist(), strict=True)]


def assert_sound(pool: PayloadPool) -> None:
    """Aligned, padded with zeros, constant header fields stamped, body sums equal to the definition."""
    assert (pool.offsets % 8 == 0).all()
    assert pool.buffer.ctypes.data % 8 == 0
    ends = [*pool.offsets[1:].tolist(), len(pool.buffer)]
    for i, message in enumerate(messages(pool)):
        header = np.frombuffer(message[:HEADER_BYTES], HEADER)[0]
        assert (header["magic"], header["version"], header["flags"]) == (MAGIC, VERSION, 0)
        assert (header["run_tag"], header["producer"]) == (0xDEADBEEF, 3)
        assert header["length"] == len(message) == pool.lengths[i]
        assert (header["partition"], header["sequence"], header["scheduled_mono_ns"], header["checksum"]) == (
            0,
            0,
            0,
            0,
        )
        assert checksum(bytes(HEADER_BYTES) + message[HEADER_BYTES:]) == int(pool.body_sums[i])
        end = int(pool.offsets[i]) + len(message)
        assert not pool.buffer[end : ends[i]].any()
        assert ends[i] - end < 8


@given(size=st.integers(HEADER_BYTES, 3000), compressibility=st.floats(0, 1))
@settings(max_examples=15, deadline=None)
def test_fixed_sizes_lie_one_behind_the_other_with_right_sums(size, compressibility):
    pool = pool_of(fixed(size, compressibility), pool_bytes=1 << 12)
    assert_sound(pool)
    assert set(pool.lengths.tolist()) == {size}
    assert set(np.diff(pool.offsets).tolist()) == {(size + 7) // 8 * 8}


def test_a_mix_of_sizes_has_every_size_as_often_as_its_weight():
    sizes = tuple(SizeShare(message_bytes=b, weight=w) for b, w in ((48, 70), (101, 20), (1000, 10)))
    pool = pool_of(PayloadPlan(sizes=sizes, compressibility=0.5))
    assert_sound(pool)
    counts = Counter(pool.lengths.tolist())
    for size, share in ((48, 0.7), (101, 0.2), (1000, 0.1)):
        assert counts[size] == pytest.approx(share * pool.slots, abs=1)
    assert len(set(pool.lengths[:200].tolist())) == 3


@pytest.mark.parametrize("wanted", [0.0, 0.25, 0.5, 0.9])
def test_zlib_shrinks_a_body_by_the_compressibility(wanted):
    bodies = b"".join(m[HEADER_BYTES:] for m in messages(pool_of(fixed(1024, wanted)))[:200])
    assert 1 - len(zlib.compress(bodies)) / len(bodies) == pytest.approx(wanted, abs=0.04)


@pytest.mark.parametrize(
    ("message_bytes", "least", "most"), [(100, 100_000, 300_000), (1024, 8192, 32768), (20_000, 1024, 1700)]
)
def test_the_pool_is_some_megabytes_with_at_least_1024_slots(message_bytes, least, most):
    pool = PayloadPool(fixed(message_bytes), None, partitions=1, seed=1, producer=0, run_tag=1)
    assert least <= pool.slots <= most
    assert 8 << 20 <= len(pool.buffer) <= 32 << 20


def test_huge_messages_still_get_sixteen_slots():
    assert pool_of(fixed(3 << 20)).slots == 16


def test_equal_seeds_give_equal_messages_and_producers_differ():
    assert messages(pool_of(fixed(64))) == messages(pool_of(fixed(64)))
    assert messages(pool_of(fixed(64)))[0][HEADER_BYTES:] != messages(pool_of(fixed(64), producer=4))[0][HEADER_BYTES:]


@given(asked=st.lists(st.integers(0, 700), max_size=30))
@settings(deadline=None)
def test_take_gives_runs_in_order_that_never_wrap(asked):
    pool = pool_of(fixed(1000), pool_bytes=1 << 10)
    expected = 0
    for most in asked:
        first, k = pool.take(most)
        assert first == expected % pool.slots
        assert first + k <= pool.slots
        assert k == min(most, pool.slots - first)
        expected += k


def test_what_is_given_back_comes_again(tmp_path):
    payload = PayloadPlan(kind="lines", path=str(data_file(tmp_path)), read_in_ram=False)
    pool = pool_of(payload)
    assert pool.take(5) == (0, 5)
    pool.give_back(2)
    assert pool.take(5) == (3, 2)
    pool.give_back(2)
    assert pool.take(1) == (3, 1)
    assert pool.generation == 1
    pool.close()


def test_without_keys_stripes_of_64_go_round_the_partitions_from_the_producers_own():
    pattern = pool_of(fixed(100), partitions=3, producer=2).partition_pattern
    assert pattern.tolist() == [2] * 64 + [0] * 64 + [1] * 64
    assert pool_of(fixed(100)).key_pattern is None


@pytest.mark.parametrize("stripe", [1, 3, 1000])
def test_the_length_of_a_stripe_can_be_chosen(stripe):
    pattern = pool_of(fixed(100), partitions=4, producer=3, stripe=stripe).partition_pattern
    assert pattern.tolist() == [p for p in (3, 0, 1, 2) for _ in range(stripe)]


def test_with_keys_the_partition_is_the_key_modulo_partitions():
    pool = pool_of(fixed(100), KeysPlan(count=100), partitions=7)
    assert pool.key_pattern is not None
    assert pool.partition_pattern.dtype == pool.key_pattern.dtype == np.int32
    assert (pool.partition_pattern == pool.key_pattern % 7).all()
    counts = np.bincount(pool.key_pattern, minlength=100)
    assert counts.min() > 0.8 * counts.mean()
    assert counts.max() < 1.2 * counts.mean()


def test_zipf_keys_fall_off_with_their_number():
    keys = pool_of(fixed(100), KeysPlan(count=1000, distribution="zipf")).key_pattern
    assert keys is not None
    counts = np.bincount(keys, minlength=1000)
    assert len(counts) == 1000
    assert counts[0] / counts[9] == pytest.approx(10, rel=0.2)
    assert counts[0] / counts[1] == pytest.approx(2, rel=0.1)


LINES = [b"first", b"", b"a longer line of text", b"x" * 3000, b"last one"]


def data_file(tmp_path: Path, *, ended: bool = True) -> Path:
    path = tmp_path / "lines.txt"
    path.write_bytes(b"\n".join(LINES) + (b"\n" if ended else b""))
    return path


@pytest.mark.parametrize("ended", [True, False])
def test_lines_in_memory_are_one_slot_each(tmp_path, ended):
    pool = pool_of(PayloadPlan(kind="lines", path=str(data_file(tmp_path, ended=ended))))
    assert_sound(pool)
    assert [m[HEADER_BYTES:] for m in messages(pool)] == LINES


@pytest.mark.parametrize("ended", [True, False])
@pytest.mark.parametrize("chunk_bytes", [1, 7, 30, 100_000])
def test_lines_from_disk_come_in_order_over_and_over(tmp_path, ended, chunk_bytes):
    payload = PayloadPlan(kind="lines", path=str(data_file(tmp_path, ended=ended)), read_in_ram=False)
    pool = pool_of(payload, chunk_bytes=chunk_bytes)
    sent: list[bytes] = []
    generations = set()
    while len(sent) < 2 * len(LINES) + 1:
        first, k = pool.take(2)
        assert k > 0
        assert_sound(pool)
        sent += [m[HEADER_BYTES:] for m in messages(pool)[first : first + k]]
        generations.add(pool.generation)
    pool.close()
    assert sent[: 2 * len(LINES) + 1] == [*LINES, *LINES, LINES[0]]
    assert len(generations) > 1


def test_many_lines_survive_being_copied_in_pieces(tmp_path, monkeypatch):
    monkeypatch.setattr(payload_module, "COPY_BYTES", 100)
    lines = [bytes([97 + i % 26]) * (i * 7 % 61) for i in range(500)]
    path = tmp_path / "many.txt"
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    pool = pool_of(PayloadPlan(kind="lines", path=str(path)))
    assert_sound(pool)
    assert [m[HEADER_BYTES:] for m in messages(pool)] == lines


def test_a_file_is_the_body_of_every_message(tmp_path):
    path = tmp_path / "one.bin"
    path.write_bytes(b"\n\x00body\n")
    pool = pool_of(PayloadPlan(kind="file", path=str(path)), pool_bytes=1 << 12)
    assert_sound(pool)
    assert {m[HEADER_BYTES:] for m in messages(pool)} == {b"\n\x00body\n"}


def test_a_file_too_large_for_memory_is_refused_with_the_way_out(tmp_path):
    path = tmp_path / "large.txt"
    with path.open("wb") as f:
        f.truncate(payload_module.MEMORY_LIMIT_BYTES + 1)
    with pytest.raises(MachineError, match="read_in_ram: false"):
        pool_of(PayloadPlan(kind="lines", path=str(path)))


@pytest.mark.parametrize("read_in_ram", [True, False])
def test_producers_have_their_own_files_in_turn(tmp_path, read_in_ram):
    for name in ("first", "second"):
        (tmp_path / name).write_text(f"{name} line\n")
    paths = (str(tmp_path / "first"), str(tmp_path / "second"))
    plan = PayloadPlan(kind="lines", paths=paths, read_in_ram=read_in_ram)
    bodies = []
    for producer in range(3):
        pool = pool_of(plan, producer=producer)
        bodies.append(messages(pool)[0][HEADER_BYTES:])
        pool.close()
    assert bodies == [b"first line", b"second line", b"first line"]


def test_an_empty_data_file_is_refused(tmp_path):
    path = tmp_path / "empty.txt"
    path.touch()
    for in_ram in (True, False):
        with pytest.raises(MachineError, match="empty"):
            pool_of(PayloadPlan(kind="lines", path=str(path), read_in_ram=in_ram))
