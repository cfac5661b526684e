"""Messages move in blocks of columns, never one by one: what crosses the border between engine and driver."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Int64s = npt.NDArray[np.int64]
Int32s = npt.NDArray[np.int32]
Bytes = npt.NDArray[np.uint8]

ACKNOWLEDGED, REJECTED, UNKNOWN = 0, 1, 2  # outcomes as they stand in arrays; evidence writes the words
OUTCOME_NAMES = ("acknowledged", "rejected", "unknown")


@dataclass(frozen=True)
class Block:
    """Consecutive messages of one producer, already stamped.

    Message i of the block has the bytes buffer[offsets[i] : offsets[i] + lengths[i]], belongs to the (cell-wide)
    partition partitions[i], and is known to the driver as number first_index + i. The buffer is reused by the engine:
    a driver must have copied or written the bytes of every message it takes before `send` returns.
    """

    buffer: Bytes
    offsets: Int64s
    lengths: Int32s
    partitions: Int32s
    first_index: int
    keys: Int32s | None = None

    def __len__(self) -> int:
        return len(self.offsets)

    def first(self, count: int) -> Block:
        """The first `count` messages, all where there are no more. Copies nothing."""
        return self if count >= len(self) else self.part(slice(count))

    def part(self, which: slice | npt.NDArray[np.bool_]) -> Block:
        """Some of the messages. Their numbers follow from `first_index` only where they are the first ones."""
        keys = None if self.keys is None else self.keys[which]
        return Block(
            self.buffer, self.offsets[which], self.lengths[which], self.partitions[which], self.first_index, keys
        )

    def fitting(self, room_bytes: int, overhead_bytes: int = 0) -> int:
        """How many messages from the first on fit, each with so much beside its payload. Not fewer than one: a message
        that is larger than all the room goes alone."""
        sizes = np.cumsum(self.lengths + overhead_bytes, dtype=np.int64)
        return max(1, int(np.searchsorted(sizes, room_bytes, side="right")))

    def rows(self) -> Bytes | None:
        """The messages as rows of bytes, without copying; None where sizes differ or they lie at unequal distances."""
        if len(self) == 0:
            return None
        size, first = int(self.lengths[0]), int(self.offsets[0])
        strides = np.diff(self.offsets)
        stride = int(strides[0]) if len(strides) else size
        if stride < 0 or not bool((self.lengths == size).all()) or not bool((strides == stride).all()):
            return None
        return np.ndarray((len(self), size), np.uint8, self.buffer, offset=first, strides=(stride, 1))

    def payloads(self) -> list[bytes]:
        """The messages as bytes objects, for clients that take nothing else."""
        rows = self.rows()
        if rows is not None:
            # One strided view: 22 ns a message. 'V', not 'S', because 'S' drops trailing NULs.
            whole: npt.NDArray[np.void] = np.ndarray(
                len(self), f"V{rows.shape[1]}", self.buffer, offset=int(self.offsets[0]), strides=rows.strides[:1]
            )
            messages: list[bytes] = whole.tolist()
            return messages
        view = memoryview(self.buffer)  # type: ignore[arg-type]
        return [bytes(view[o : o + s]) for o, s in zip(self.offsets.tolist(), self.lengths.tolist(), strict=True)]


@dataclass(frozen=True)
class Settlements:
    """What a client has learnt since it was last asked: message numbers, outcomes, when its library said so."""

    indices: Int64s
    outcomes: npt.NDArray[np.uint8]
    at_mono_ns: Int64s
    errors: dict[str, int] = field(default_factory=dict)  # kind -> count, for rejected and unknown ones

    def __len__(self) -> int:
        return len(self.indices)


NOTHING_SETTLED = Settlements(np.empty(0, np.int64), np.empty(0, np.uint8), np.empty(0, np.int64))


@dataclass(frozen=True)
class Deliveries:
    """Messages as they arrived, in arrival order.

    Python clients fill `buffer` (see `from_payloads`); native ones leave it None and give memory addresses that stay
    valid until `release` is called. `arrived_mono_ns` is one time for the whole chunk: keep chunks small.
    `positions` are broker offsets within the partition where the broker has them, else -1. `redelivered` is what the
    broker itself says. `token` is whatever the driver needs to acknowledge.
    """

    addresses: npt.NDArray[np.uint64]
    lengths: Int32s
    arrived_mono_ns: int
    positions: Int64s
    redelivered: npt.NDArray[np.uint8]
    buffer: Bytes | None = None
    token: object = None
    release: Callable[[], None] | None = None

    def __len__(self) -> int:
        return len(self.lengths)

    @classmethod
    def from_payloads(
        cls,
        payloads: list[bytes],
        arrived_mono_ns: int,
        positions: Int64s | None = None,
        redelivered: npt.NDArray[np.uint8] | None = None,
        token: object = None,
    ) -> Deliveries:
        n = len(payloads)
        lengths = np.fromiter(map(len, payloads), np.int32, n)
        # Eight bytes of zeros behind the last message let checksums read whole words.
        buffer = np.frombuffer(b"".join([*payloads, bytes(8)]), np.uint8)
        starts = np.zeros(n, np.uint64)
        if n:
            np.cumsum(lengths[:-1], out=starts[1:])
        return cls(
            addresses=starts + np.uint64(buffer.ctypes.data),
            lengths=lengths,
            arrived_mono_ns=arrived_mono_ns,
            positions=np.full(n, -1, np.int64) if positions is None else positions,
            redelivered=np.zeros(n, np.uint8) if redelivered is None else redelivered,
            buffer=buffer,
            token=token,
        )


def no_deliveries(arrived_mono_ns: int) -> Deliveries:
    return Deliveries.from_payloads([], arrived_mono_ns)
