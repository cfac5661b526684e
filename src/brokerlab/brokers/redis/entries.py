"""Answers of the servers: entries of streams, turned into deliveries, and what else comes as lists and lines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from brokerlab.model.blocks import Deliveries, Int64s

SEQUENCE_BITS = 20  # of a position; the milliseconds of an id take 41 bits until the year 2039


@dataclass
class Chunk:
    """Messages of one stream, read at one time, not yet handed out."""

    key: str
    ids: list[bytes]
    payloads: list[bytes]
    redelivered: bool
    arrived_mono_ns: int

    def split(self, count: int) -> tuple[Chunk, Chunk]:
        """The first `count` messages and the rest."""
        again, at = self.redelivered, self.arrived_mono_ns
        return (
            Chunk(self.key, self.ids[:count], self.payloads[:count], again, at),
            Chunk(self.key, self.ids[count:], self.payloads[count:], again, at),
        )


def chunk_of(
    key: str, entries: list[list[object]], redelivered: bool, arrived_mono_ns: int
) -> tuple[Chunk, list[bytes]]:
    """A chunk, and the ids of entries that are gone: deleted from the stream, yet still pending in the group."""
    ids: list[bytes] = []
    payloads: list[bytes] = []
    gone: list[bytes] = []
    for name, fields in entries:
        if fields is None:
            gone.append(name)  # type: ignore[arg-type]
        else:
            ids.append(name)  # type: ignore[arg-type]
            payloads.append(fields[1])  # type: ignore[index]
    return Chunk(key, ids, payloads, redelivered, arrived_mono_ns), gone


def positions_of(ids: list[bytes]) -> Int64s:
    """Ids "milliseconds-sequence" as numbers that grow as the ids do; -1 where the sequence does not fit."""
    if not ids:
        return np.empty(0, np.int64)
    numbers = np.fromstring(b",".join(ids).replace(b"-", b",").decode(), np.int64, sep=",").reshape(-1, 2)
    fits = (numbers[:, 1] < 1 << SEQUENCE_BITS) & (numbers[:, 0] < 1 << (63 - SEQUENCE_BITS))
    return np.where(fits, numbers[:, 0] << SEQUENCE_BITS | numbers[:, 1], -1)


def deliveries_of(chunks: list[Chunk]) -> Deliveries:
    """Chunks of one time as deliveries; the token says which ids of which stream they are."""
    payloads = [payload for chunk in chunks for payload in chunk.payloads]
    ids = [name for chunk in chunks for name in chunk.ids]
    again = np.repeat(np.array([c.redelivered for c in chunks], np.uint8), [len(c.ids) for c in chunks])
    token = [(chunk.key, chunk.ids) for chunk in chunks]
    return Deliveries.from_payloads(payloads, chunks[0].arrived_mono_ns, positions_of(ids), again, token)


def parse_info(told: object) -> dict[str, str]:
    """INFO's lines `name:value` by name; none of an answer that is no text."""
    lines = told.decode(errors="replace").splitlines() if isinstance(told, bytes) else []
    return dict(line.split(":", 1) for line in lines if ":" in line and not line.startswith("#"))


def pairs(told: object) -> dict[bytes, Any]:
    """Names and values, which stand in turn in a list."""
    assert isinstance(told, list)
    return dict(zip(told[::2], told[1::2], strict=True))
