"""Messages that came together, between the wire and `receive`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from brokerlab.model.blocks import Bytes, Deliveries, Int32s, Int64s


@dataclass(frozen=True)
class Arrived:
    """They share one time of arrival. Message i has the bytes buffer[starts[i] : starts[i] + lengths[i]]."""

    buffer: Bytes  # see `readable`
    starts: Int64s
    lengths: Int32s
    positions: Int64s  # -1 where the broker has none
    redelivered: npt.NDArray[np.uint8]
    numbers: Int64s  # of each, what it is acknowledged by
    at_mono_ns: int

    def __len__(self) -> int:
        return len(self.lengths)

    def split(self, most: int) -> tuple[Arrived, Arrived | None]:
        """The first `most` messages, and the rest where there is one."""
        if len(self) <= most:
            return self, None
        return self.part(slice(most)), self.part(slice(most, None))

    def part(self, which: slice) -> Arrived:
        columns = (self.starts, self.lengths, self.positions, self.redelivered, self.numbers)
        starts, lengths, positions, redelivered, numbers = (column[which] for column in columns)
        return Arrived(self.buffer, starts, lengths, positions, redelivered, numbers, self.at_mono_ns)  # type: ignore[arg-type]

    def deliveries(self, token: object) -> Deliveries:
        return Deliveries(
            addresses=self.starts.astype(np.uint64) + np.uint64(self.buffer.ctypes.data),
            lengths=self.lengths,
            arrived_mono_ns=self.at_mono_ns,
            positions=self.positions,
            redelivered=self.redelivered,
            buffer=self.buffer,
            token=token,
        )


def readable(data: bytes) -> Bytes:
    """With eight bytes of zeros behind the last message, which let checksums read whole words."""
    return np.frombuffer(data + bytes(8), np.uint8)


def starts_of(lengths: Int32s) -> Int64s:
    """Where messages begin that follow each other."""
    starts = np.zeros(len(lengths), np.int64)
    np.cumsum(lengths[:-1], out=starts[1:])
    return starts
