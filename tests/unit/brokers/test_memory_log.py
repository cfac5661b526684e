"""Partitions and cursors of the memory server, without a network."""

from __future__ import annotations

import numpy as np
import pytest

from brokerlab.brokers.memory.log import Cursor, Partition
from brokerlab.brokers.memory.protocol import FrameReader, ProtocolError, frame
from brokerlab.brokers.memory.session import Batch, decode_publish, split_by_partition
from brokerlab.brokers.memory.store import Store, UnknownDestinationError


def filled(*chunks: list[bytes]) -> Partition[str]:
    partition: Partition[str] = Partition(0)
    for messages in chunks:
        partition.append(np.array([len(m) for m in messages], np.int32), b"".join(messages))
    return partition


def taken(cursor: Cursor[str], member: str, most: int = 100, most_bytes: int = 1000) -> list[tuple[int, bytes, bool]]:
    found = []
    while cursor.available() and len(found) < most:
        first, lengths, data, again = cursor.take(member, most - len(found), most_bytes)
        at = 0
        for i, n in enumerate(lengths.tolist()):
            found.append((first + i, bytes(data[at : at + n]), again))
            at += n
    return found


def test_a_cursor_reads_across_chunks_in_order() -> None:
    cursor = filled([b"a", b"bb"], [b"ccc"]).cursor("g")
    cursor.join("m")
    assert taken(cursor, "m") == [(0, b"a", False), (1, b"bb", False), (2, b"ccc", False)]
    assert cursor.backlog() == 3
    cursor.acknowledge("m", 0, 1)
    assert cursor.backlog() == 1


def test_a_message_larger_than_the_frame_is_given_alone() -> None:
    cursor = filled([b"x" * 50, b"y" * 50]).cursor("g")
    cursor.join("m")
    _, lengths, data, _ = cursor.take("m", 10, 20)
    assert (lengths.tolist(), len(data)) == ([50], 50)


def test_what_a_leaving_member_held_comes_again_first_and_marked() -> None:
    cursor = filled([b"a", b"b", b"c", b"d"]).cursor("g")
    cursor.join("m")
    assert len(taken(cursor, "m", most=3)) == 3
    cursor.acknowledge("m", 1, 1)
    cursor.leave("m")
    cursor.join("n")
    assert taken(cursor, "n") == [(0, b"a", True), (2, b"c", True), (3, b"d", False)]


def test_a_member_cannot_acknowledge_what_another_holds() -> None:
    cursor = filled([b"a"]).cursor("g")
    cursor.join("m")
    cursor.join("n")
    taken(cursor, "m")
    cursor.acknowledge("n", 0, 0)
    assert cursor.backlog() == 1


def test_only_what_every_group_has_acknowledged_is_forgotten() -> None:
    partition = filled([b"a" * 10], [b"b" * 10], [b"c" * 10])
    fast, slow = partition.cursor("fast"), partition.cursor("slow")
    for cursor in (fast, slow):
        cursor.join("m")
        taken(cursor, "m")
    fast.acknowledge("m", 0, 2)
    assert partition.drop_consumed(100) == 0
    slow.acknowledge("m", 0, 0)
    slow.acknowledge("m", 2, 2)
    assert partition.drop_consumed(100) == 10
    assert (partition.start, partition.cursor("new").next) == (1, 1)


def test_nothing_is_forgotten_while_there_is_no_group() -> None:
    assert filled([b"a"]).drop_consumed(100) == 0


def test_a_full_store_says_so_until_consumed_messages_are_forgotten() -> None:
    store: Store[str] = Store(retain_bytes=5, limit_bytes=20)
    store.create(["d"], 1, ["g"])
    (partition,) = store.partitions(["d"], 1)
    partition.append(np.array([20], np.int32), bytes(20))
    store.grew(20)
    assert store.is_full()
    cursor = partition.cursor("g")
    cursor.join("m")
    taken(cursor, "m")
    cursor.acknowledge("m", 0, 0)
    store.shrink()
    assert not store.is_full()
    assert store.held_bytes == 0


def test_a_destination_that_is_missing_or_shaped_otherwise_is_refused() -> None:
    store: Store[str] = Store(1, 1)
    store.create(["d"], 2, [])
    with pytest.raises(UnknownDestinationError, match="'e'"):
        store.partitions(["e"], 2)
    with pytest.raises(UnknownDestinationError, match="2 partitions, not 3"):
        store.partitions(["d"], 3)


@pytest.mark.parametrize("sizes", [[3, 3, 3, 3, 3], [1, 2, 3, 4, 5]])
def test_splitting_keeps_each_partitions_order(sizes: list[int]) -> None:
    partitions = [1, 0, 1, 2, 0]
    messages = [bytes([65 + i]) * n for i, n in enumerate(sizes)]
    batch = Batch(0, np.array(sizes, np.int32), np.array(partitions, np.int32), b"".join(messages))
    found = {p: (lengths.tolist(), data) for p, lengths, data in split_by_partition(batch)}
    for p in (0, 1, 2):
        own = [m for m, q in zip(messages, partitions, strict=True) if q == p]
        assert found[p] == ([len(m) for m in own], b"".join(own))


def test_frames_come_out_whole_however_the_bytes_arrive() -> None:
    stream = frame(7, b"one") + frame(8, b"") + frame(9, b"three")
    reader = FrameReader()
    found = []
    for i in range(len(stream)):
        reader.feed(stream[i : i + 1])
        found += list(reader.frames())
    assert found == [(7, b"one"), (8, b""), (9, b"three")]


def test_a_publish_whose_lengths_do_not_add_up_is_refused() -> None:
    body = b"\0" * 8 + (1).to_bytes(4, "little") + (9).to_bytes(4, "little") + bytes(4) + b"short"
    with pytest.raises(ProtocolError):
        decode_publish(body)
