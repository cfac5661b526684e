"""XADD commands of a whole block as bytes, without a Python step per message where sizes allow."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from brokerlab.model.blocks import Block, Int64s

FIELD = b"d"  # the one field of an entry


class Commands:
    """Makes `XADD key * d payload` for messages of known partitions."""

    def __init__(self, keys: Sequence[str]) -> None:
        self._heads = [
            b"*5\r\n$4\r\nXADD\r\n$%d\r\n%b\r\n$1\r\n*\r\n$1\r\n%b\r\n" % (len(k), k, FIELD) for k in _bytes(keys)
        ]
        self._table: npt.NDArray[np.uint8] | None = None
        if len({len(head) for head in self._heads}) == 1:
            self._table = np.frombuffer(b"".join(self._heads), np.uint8).reshape(len(self._heads), -1)

    def of(self, block: Block, chosen: Int64s) -> bytes:
        """The commands for the messages at these places of the block, in this order."""
        lengths = block.lengths[chosen]
        size = int(lengths[0])
        if self._table is not None and bool((lengths == size).all()):
            return self._by_template(self._table, block, chosen, size)
        return self._by_joining(block, chosen)

    def _by_template(self, table: npt.NDArray[np.uint8], block: Block, chosen: Int64s, size: int) -> bytes:
        count, head_bytes, length = len(chosen), table.shape[1], b"$%d\r\n" % size
        begin = head_bytes + len(length)
        rows = np.empty((count, begin + size + 2), np.uint8)
        rows[:, :head_bytes] = table[block.partitions[chosen]]
        rows[:, head_bytes:begin] = np.frombuffer(length, np.uint8)
        rows[:, begin : begin + size] = _payload_rows(block, chosen, size)
        rows[:, -2:] = (13, 10)
        return rows.tobytes()

    def _by_joining(self, block: Block, chosen: Int64s) -> bytes:
        view, heads = memoryview(block.buffer), self._heads  # type: ignore[arg-type]
        parts: list[bytes | memoryview] = []
        for offset, size, partition in zip(
            block.offsets[chosen].tolist(),
            block.lengths[chosen].tolist(),
            block.partitions[chosen].tolist(),
            strict=True,
        ):
            parts += (heads[partition], b"$%d\r\n" % size, view[offset : offset + size], b"\r\n")
        return b"".join(parts)


def _payload_rows(block: Block, chosen: Int64s, size: int) -> npt.NDArray[np.uint8]:
    """The messages as rows; a view where they stand at equal distances."""
    offsets = block.offsets[chosen]
    first = int(offsets[0])
    stride = int(offsets[1]) - first if len(offsets) > 1 else size
    if bool((np.diff(offsets) == stride).all()):
        return np.ndarray((len(offsets), size), np.uint8, block.buffer, offset=first, strides=(stride, 1))
    rows: npt.NDArray[np.uint8] = block.buffer[offsets[:, None] + np.arange(size)]
    return rows


def _bytes(keys: Sequence[str]) -> list[bytes]:
    return [key.encode() for key in keys]
