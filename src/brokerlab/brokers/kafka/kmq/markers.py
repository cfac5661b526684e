"""What stands in a markers topic, in KMQ's own binary form, and what follows from it. Pure: no client here.

Per destination and group there is one markers topic with the destination's number of partitions. A message received
gets a start marker in the partition of its own number, a message acknowledged an end marker.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Any

TIMEOUT_SETTING = "kmq.message.timeout.ms"  # no end marker after this long: the message comes again
DEFAULT_TIMEOUT_MS = 10_000
COUNT_HEADER = "kmq-redelivery-count"  # KMQ's own name
GROUP_HEADER = "kmq-redelivered-to"  # ours: a copy is for the group that did not acknowledge, not for the others
ORIGIN_HEADER = "kmq-redelivered-from"  # ours: the offset of the message a copy stands for

_KEY = struct.Struct(">iq")  # partition, offset
_START = struct.Struct(">bq")  # 1, milliseconds until redelivery
_OFFSET = struct.Struct(">q")
END = b"\x00"


def markers_topic(destination: str, group: str) -> str:
    return f"{_prefix(destination)}{group}"


def is_markers_topic_of(topic: str, destination: str) -> bool:
    return topic.startswith(_prefix(destination))


def _prefix(destination: str) -> str:
    return f"{destination}.kmq-markers."


def tracker_group(group: str) -> str:
    """The Kafka group under which a tracker keeps its place in the markers."""
    return f"{group}.kmq-redelivery"


def marker_key(partition: int, offset: int) -> bytes:
    return _KEY.pack(partition, offset)


def start_marker(timeout_ms: int) -> bytes:
    return _START.pack(1, timeout_ms)


def copy_headers(count: int, group: str, offset: int) -> list[tuple[str, bytes]]:
    """Headers of a copy: how often this message came before, for whom it is, which message it stands for."""
    return [
        (COUNT_HEADER, bytes([min(count, 127)])),
        (GROUP_HEADER, group.encode()),
        (ORIGIN_HEADER, _OFFSET.pack(offset)),
    ]


def header(message: Any, name: str) -> bytes | None:
    headers: list[tuple[str, bytes]] = message.headers() or []
    return next((value for key, value in headers if key == name), None)


def origin(value: bytes) -> int:
    return int(_OFFSET.unpack(value)[0])


@dataclass
class OpenMessages:
    """Messages of one partition that were received and not acknowledged, by their offset in the destination.

    Time is that of the markers: while a tracker reads old markers its clock stands where those were written, so a
    message is not called overdue before its end marker, further on, was read.
    """

    _due_ms: dict[int, int] = field(default_factory=dict)  # offset -> when it must be sent again; in order of starting
    _marker_at: dict[int, int] = field(default_factory=dict)  # offset -> where its start marker stands
    clock_ms: int = 0
    next_marker: int = 0

    def __len__(self) -> int:
        return len(self._due_ms)

    def read(self, key: bytes, value: bytes, written_ms: int, marker_offset: int) -> None:
        """Take one marker into account."""
        _, offset = _KEY.unpack(key)
        self.clock_ms = max(self.clock_ms, written_ms)
        self.next_marker = marker_offset + 1
        if value == END:
            self._due_ms.pop(offset, None)
            self._marker_at.pop(offset, None)
        else:
            _, timeout_ms = _START.unpack(value)
            self._due_ms.setdefault(offset, written_ms + timeout_ms)
            self._marker_at.setdefault(offset, marker_offset)

    def overdue(self) -> list[int]:
        """Offsets of messages that must be sent again, in ascending order. They stay open until their end marker."""
        return sorted(offset for offset, due_ms in self._due_ms.items() if due_ms <= self.clock_ms)

    def closed(self, offset: int) -> None:
        """Sent again: this one is settled, its copy is another message."""
        self._due_ms.pop(offset, None)
        self._marker_at.pop(offset, None)

    def resume_at(self) -> int:
        """Where a new tracker must begin to read so as to know all that is open."""
        return min(self._marker_at.values(), default=self.next_marker)
