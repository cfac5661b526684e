"""XADD commands of a whole block as bytes, without a Python step per message where sizes allow."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from brokerlab.brokers.kit.rows import joined_rows
from brokerlab.model.blocks import Block, Int64s

FIELD = b"d"  # the one field of an entry


class Commands:
    """Makes `XADD key * d payload` for messages of known partitions."""

    def __init__(self, keys: Sequence[str]) -> None:
        self._heads = [
            b"*5\r\n$4\r\nXADD\r\n$%d\r\n%b\r\n$1\r\n*\r\n$1\r\n%b\r\n" % (len(k), k, FIELD)
            for k in (key.encode() for key in keys)
        ]
        self._table: npt.NDArray[np.uint8] | None = None
        if len({len(head) for head in self._heads}) == 1:
            self._table = np.frombuffer(b"".join(self._heads), np.uint8).reshape(len(self._heads), -1)

    def of(self, block: Block, chosen: Int64s) -> bytes:
        """The commands for the messages at these places of the block, in this order."""
        rows = None if self._table is None else block.rows()
        if self._table is None or rows is None:
            return self._by_joining(block, chosen)
        heads, length = self._table[block.partitions[chosen]], b"$%d\r\n" % rows.shape[1]
        return joined_rows(heads, length, rows if len(chosen) == len(rows) else rows[chosen], b"\r\n")

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
