"""PostgreSQL's binary arrays from and to numpy: a whole block is one parameter, a whole batch one value."""

from __future__ import annotations

import struct

import numpy as np
import numpy.typing as npt

from brokerlab.brokers.kit.rows import joined_rows
from brokerlab.model.blocks import Block, Int32s, Int64s

BYTEA, INT8, INT4 = 17, 20, 23
_HEADER = struct.Struct(">iiIii")  # dimensions, has nulls, element type, length, lower bound
_HEADER_BYTES = _HEADER.size


def array(element_type: int, count: int, elements: bytes) -> bytes:
    """A one-dimensional array of already encoded elements."""
    return _HEADER.pack(1, 0, element_type, count, 1) + elements if count else struct.pack(">iiI", 0, 0, element_type)


def int4_elements(values: Int32s) -> bytes:
    return _elements(values, ">i4")


def _elements(values: npt.NDArray[np.signedinteger], kind: str) -> bytes:
    rows = np.empty(len(values), np.dtype([("bytes", ">i4"), ("value", kind)]))
    rows["bytes"] = np.dtype(kind).itemsize
    rows["value"] = values
    return rows.tobytes()


def bytea_elements(block: Block) -> bytes:
    """The messages of a block, each behind its length. Copies."""
    rows = block.rows()
    if rows is not None:
        return joined_rows(struct.pack(">i", rows.shape[1]), rows)
    return b"".join(part for payload in block.payloads() for part in (struct.pack(">i", len(payload)), payload))


def int8_array(values: Int64s) -> bytes:
    return array(INT8, len(values), _elements(values, ">i8"))


def read_int4_array(value: bytes) -> Int32s:
    return _read(value, ">i4").astype(np.int32)


def read_int8_array(value: bytes) -> Int64s:
    return _read(value, ">i8").astype(np.int64)


def _read(value: bytes, kind: str) -> npt.NDArray[np.signedinteger]:
    """The elements of an array without nulls."""
    rows = np.frombuffer(value, np.dtype([("bytes", ">i4"), ("value", kind)]), offset=_HEADER_BYTES)
    numbers: npt.NDArray[np.signedinteger] = rows["value"]
    return numbers
