"""Slots, positions, commands and configuration files."""

from __future__ import annotations

import hiredis
import numpy as np
import pytest
from redis.crc import key_slot

from brokerlab.brokers.redis.entries import Chunk, chunk_of, deliveries_of, parse_info, positions_of
from brokerlab.brokers.redis.keys import Placement, keys_of, slot_of
from brokerlab.brokers.redis.server import Access, Place, configuration
from brokerlab.brokers.redis.settings import ServerSettings
from brokerlab.brokers.redis.wire import Commands
from brokerlab.errors import BrokerError
from brokerlab.model.blocks import Block

SETTINGS = ServerSettings("yes", "always", "0")


def test_slots_are_those_of_the_cluster_specification() -> None:
    assert slot_of("123456789") == 0x31C3, "the specification's own example"
    for key in ("foo", "{user1000}.following", "x{}y", "", "{", "}{", "a{b}c{d}", "a{{b}}", "bl-1:00017", "ü"):
        assert slot_of(key) == key_slot(key.encode()), key


def test_keys_with_the_same_tag_share_a_slot_and_partitions_spread() -> None:
    assert slot_of("{a}1") == slot_of("{a}2")
    assert len({slot_of(key) for key in keys_of(("d",), 100)}) > 90


def test_a_slot_nobody_serves_is_a_broker_error() -> None:
    with pytest.raises(BrokerError, match="no node serves slot"):
        Placement(((0, 5, "a:1"),)).address_of("foo")


def block_of(payloads: list[bytes], partitions: list[int], gap: int = 0) -> Block:
    lengths = [len(p) for p in payloads]
    offsets = np.cumsum([0] + [n + gap for n in lengths[:-1]])
    buffer = np.frombuffer(b"".join(p + bytes(gap) for p in payloads), np.uint8)
    return Block(buffer, offsets.astype(np.int64), np.array(lengths, np.int32), np.array(partitions, np.int32), 0)


@pytest.mark.parametrize(
    ("destinations", "payloads", "gap"),
    [
        (("dd",), [b"one\r\n", b"two\0\0", b"three"], 0),  # the template
        (("dd",), [b"one\r\n", b"two\0\0", b"three"], 3),
        (("dd",), [b"", b"longer", b"$1\r\n"], 0),  # joined
        (("d", "other"), [b"aa", b"bb", b"cc"], 0),  # keys of different lengths
    ],
)
def test_commands_of_a_block_are_the_same_as_one_by_one(
    destinations: tuple[str, ...], payloads: list[bytes], gap: int
) -> None:
    keys = keys_of(destinations, 2)
    block = block_of(payloads, [0, 1, len(keys) - 1], gap)
    for chosen in ([0, 1, 2], [0, 2], [1]):
        made = Commands(keys).of(block, np.array(chosen, np.int64))
        expected = [("XADD", keys[block.partitions[i]], "*", "d", payloads[i]) for i in chosen]
        assert made == b"".join(hiredis.pack_command(words) for words in expected)


def test_unequal_distances_between_messages_of_one_size_are_respected() -> None:
    buffer = np.frombuffer(b"aa-bb---cc", np.uint8)
    block = Block(buffer, np.array([0, 3, 8]), np.full(3, 2, np.int32), np.zeros(3, np.int32), 0)
    made = Commands(["k"]).of(block, np.arange(3))
    assert made == b"".join(hiredis.pack_command(("XADD", "k", "*", "d", p)) for p in (b"aa", b"bb", b"cc"))


def test_positions_grow_as_ids_do_and_say_when_they_cannot() -> None:
    ids = [b"1763261234567-0", b"1763261234567-1", b"1763261234568-0", b"1763261234568-1048575"]
    positions = positions_of(ids)
    assert sorted(set(positions.tolist())) == positions.tolist()
    assert positions_of([b"1763261234568-1048576", b"99999999999999999-0"]).tolist() == [-1, -1]
    assert positions_of([]).tolist() == []


def test_entries_deleted_while_pending_are_told_apart() -> None:
    chunk, gone = chunk_of("k", [[b"1-0", [b"d", b"x"]], [b"2-0", None]], True, 5)
    assert (chunk.ids, chunk.payloads, gone) == ([b"1-0"], [b"x"], [b"2-0"])


def test_chunks_are_split_and_joined_with_their_marks() -> None:
    first, rest = Chunk("a", [b"1-0", b"1-1", b"1-2"], [b"x", b"y", b"z"], False, 7).split(1)
    assert (first.ids, rest.ids) == ([b"1-0"], [b"1-1", b"1-2"])
    made = deliveries_of([rest, Chunk("b", [b"2-0"], [b"w"], True, 7)])
    assert made.redelivered.tolist() == [0, 0, 1]
    assert made.token == [("a", [b"1-1", b"1-2"]), ("b", [b"2-0"])]
    assert made.arrived_mono_ns == 7


def test_a_node_listens_on_loopback_only_and_refuses_rather_than_evicts(tmp_path) -> None:  # type: ignore[no-untyped-def]
    lines = configuration(Place(7000, tmp_path), SETTINGS, Access()).splitlines()
    assert {'bind "127.0.0.1"', 'port "7000"', 'appendfsync "always"', 'maxmemory-policy "noeviction"'} <= set(lines)
    assert not any(line.startswith(("replicaof", "cluster", "tls", "user", "requirepass")) for line in lines)


def test_a_named_user_stands_in_the_file_by_the_hash_of_the_password(tmp_path) -> None:  # type: ignore[no-untyped-def]
    text = configuration(Place(7000, tmp_path, 6999), SETTINGS, Access(None, "lab", 'pa"ss'))
    assert "user default off\n" in text
    assert 'masterauth "pa\\"ss"\n' in text
    assert "replicaof 127.0.0.1 6999\n" in text
    (line,) = (line for line in text.splitlines() if line.startswith("user lab"))
    assert 'pa"ss' not in line


def test_info_is_read_by_name() -> None:
    assert parse_info(b"# Server\r\nredis_version:8.0.2\r\nx:1:2\r\n") == {"redis_version": "8.0.2", "x": "1:2"}
