"""Blocks cut into batches, for protocols whose requests carry several messages of one destination."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class BatchLimits:
    messages: int
    size_bytes: int  # of all messages together; one that is larger goes alone


@dataclass
class Batch:
    """Messages of one partition, by their places in a block."""

    partition: int
    places: list[int] = field(default_factory=list)
    size_bytes: int = 0

    def has_room(self, size_bytes: int, limits: BatchLimits) -> bool:
        return len(self.places) < limits.messages and self.size_bytes + size_bytes <= limits.size_bytes

    def add(self, place: int, size_bytes: int) -> None:
        self.places.append(place)
        self.size_bytes += size_bytes


def batches_of(partitions: Sequence[int], sizes: Sequence[int], limits: BatchLimits, most: int) -> list[Batch]:
    """The first messages as at most so many batches: up to the first message that none of them can take."""
    made: list[Batch] = []
    open_by_partition: dict[int, Batch] = {}
    for place, (partition, size) in enumerate(zip(partitions, sizes, strict=True)):
        batch = open_by_partition.get(partition)
        if batch is None or not batch.has_room(size, limits):
            if len(made) == most:
                break
            batch = open_by_partition[partition] = Batch(partition)
            made.append(batch)
        batch.add(place, size)
    return made
