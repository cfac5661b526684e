"""What the server keeps: partitions as chunks of messages, and the place of each group in each partition."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from brokerlab.brokers.memory.ranges import RangeSet
from brokerlab.model.blocks import Int32s, Int64s

Member = TypeVar("Member")


@dataclass(frozen=True)
class Chunk:
    """Messages that came together: message i of it has position first + i and bytes data[ends[i] - lengths[i] : ends[i]]."""

    first: int
    lengths: Int32s
    ends: Int64s
    data: bytes

    @classmethod
    def of(cls, first: int, lengths: Int32s, data: bytes) -> Chunk:
        return cls(first, lengths, np.cumsum(lengths, dtype=np.int64), data)

    @property
    def end(self) -> int:
        """Position after the last message."""
        return self.first + len(self.lengths)

    def cut(self, position: int, most: int, most_bytes: int) -> tuple[Int32s, memoryview]:
        """Lengths and bytes of at most `most` messages from `position` on; at least one, however long."""
        begin = position - self.first
        start = int(self.ends[begin]) - int(self.lengths[begin])
        stop = min(begin + most, int(np.searchsorted(self.ends, start + most_bytes, side="right")))
        stop = max(stop, begin + 1)
        return self.lengths[begin:stop], memoryview(self.data)[start : int(self.ends[stop - 1])]


class Partition(Generic[Member]):
    """An ordered log in memory, and the cursors of the groups that read it."""

    def __init__(self, number: int) -> None:
        self.number = number  # through all destinations of the server: spreads partitions over members
        self.start = 0
        self.end = 0
        self.bytes = 0
        self.cursors: dict[str, Cursor[Member]] = {}
        self._chunks: list[Chunk] = []
        self._firsts: list[int] = []

    def append(self, lengths: Int32s, data: bytes) -> None:
        self._chunks.append(Chunk.of(self.end, lengths, data))
        self._firsts.append(self.end)
        self.end += len(lengths)
        self.bytes += len(data)

    def chunk_at(self, position: int) -> Chunk:
        return self._chunks[bisect_right(self._firsts, position) - 1]

    def drop_consumed(self, most_bytes: int) -> int:
        """Forget the oldest chunks, up to `most_bytes`, that every group has acknowledged; how many bytes that freed.

        Without any group nothing is forgotten: the first group to come may want it all.
        """
        if not self.cursors:
            return 0
        needed = min(c.oldest_needed() for c in self.cursors.values())
        count = freed = 0
        for chunk in self._chunks:
            if chunk.end > needed or freed >= most_bytes:
                break
            freed += len(chunk.data)
            count += 1
            self.start = chunk.end
        del self._chunks[:count], self._firsts[:count]
        self.bytes -= freed
        return freed

    def cursor(self, group: str) -> Cursor[Member]:
        """The group's place; a new group begins at the oldest message there is."""
        if group not in self.cursors:
            self.cursors[group] = Cursor(self, self.start)
        return self.cursors[group]


class Cursor(Generic[Member]):
    """Where one group stands in one partition. One member owns it; only the owner is given messages."""

    def __init__(self, partition: Partition[Member], position: int) -> None:
        self.partition = partition
        self.next = position
        self.owner: Member | None = None
        self.returned = RangeSet()  # were with a member that left: come again, before anything new
        self.members: list[Member] = []
        self._held: dict[Member, RangeSet] = {}

    def join(self, member: Member) -> None:
        self.members.append(member)
        self._held[member] = RangeSet()
        self._choose_owner()

    def leave(self, member: Member) -> None:
        """What the member did not acknowledge will be delivered again."""
        for first, last in self._held.pop(member):
            self.returned.add(first, last)
        self.members.remove(member)
        self._choose_owner()

    def _choose_owner(self) -> None:
        self.owner = self.members[self.partition.number % len(self.members)] if self.members else None

    def available(self) -> bool:
        return self.next < self.partition.end or len(self.returned) > 0

    def take(self, member: Member, most: int, most_bytes: int) -> tuple[int, Int32s, memoryview, bool]:
        """Next messages for the member: first position, lengths, bytes, whether they come again. Only if `available`."""
        again = len(self.returned) > 0
        if again:
            position, count = self.returned.take(most)
        else:
            position, count = self.next, min(most, self.partition.end - self.next)
        lengths, data = self.partition.chunk_at(position).cut(position, count, most_bytes)
        taken = len(lengths)
        if again and taken < count:
            self.returned.add(position + taken, position + count - 1)
        if not again:
            self.next += taken
        self._held[member].add(position, position + taken - 1)
        return position, lengths, data, again

    def acknowledge(self, member: Member, first: int, last: int) -> None:
        """Whatever of first..last this member holds is done; the rest is no concern of its."""
        self._held[member].remove(first, last)

    def oldest_needed(self) -> int:
        firsts = [f for ranges in (self.returned, *self._held.values()) for f, _ in ranges]
        return min([self.next, *firsts])

    def backlog(self) -> int:
        """Messages of this partition the group has not acknowledged."""
        held = sum(map(len, self._held.values()))
        return self.partition.end - self.next + len(self.returned) + held
