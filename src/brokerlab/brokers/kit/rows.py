"""Frames of many messages at once, as the rows of a matrix of bytes."""

from __future__ import annotations

import numpy as np

from brokerlab.model.blocks import Bytes


def joined_rows(*parts: Bytes | bytes) -> bytes:
    """Row by row, the parts one behind the other: a matrix has a row for each message, bytes are the same in all."""
    count = max(len(part) for part in parts if isinstance(part, np.ndarray))
    widths = [part.shape[1] if isinstance(part, np.ndarray) else len(part) for part in parts]
    rows = np.empty((count, sum(widths)), np.uint8)
    at = 0
    for part, width in zip(parts, widths, strict=True):
        rows[:, at : at + width] = part if isinstance(part, np.ndarray) else np.frombuffer(part, np.uint8)
        at += width
    return rows.tobytes()
