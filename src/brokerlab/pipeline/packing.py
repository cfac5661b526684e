"""Ranges of many lanes packed where they are read: a row per lane, block of numbers and reader, with arrays of ranges.

So few rows move between Spark's tasks, and a lane of any length is accounted for in pieces that fit into memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from brokerlab.model.blocks import Int64s
from brokerlab.pipeline.lane import COUNTS, KINDS, RECEIVED, Account, Stream, accounts

ONE_BLOCK_BITS = 62
BLOCK_BITS = 21  # two million numbers: some hundred bytes each while they are accounted for
MARK = len(KINDS)  # a row that says when a reader left the block, in `ordinal`
_KEY = ("group", "producer", "partition", "block", "kind", "consumer", "epoch", "in_order")
_ARRAYS = ("first", "last", "ordinal")
PACKED = pa.schema(
    [("group", pa.string()), *((n, pa.int64()) for n in (*_KEY[1:], "redelivered")), *((n, pa.list_(pa.int64())) for n in _ARRAYS)]
)  # fmt: skip
LANE_ACCOUNT = pa.schema(
    [
        ("group", pa.string()), ("producer", pa.int32()), ("partition", pa.int32()), ("block", pa.int64()),
        *((name, pa.int64()) for name in COUNTS), ("lost_first", pa.list_(pa.int64())), ("lost_last", pa.list_(pa.int64())),
    ]
)  # fmt: skip


@dataclass(frozen=True)
class Split:
    """How the lanes of one execution are divided: numbers in blocks of 2^block_bits, blocks among `slots` groups of rows."""

    block_bits: int = ONE_BLOCK_BITS
    slots: int = 1


def split_for(ranges: int, *, block_ranges: int = 1_000_000, slot_ranges: int = 500_000) -> Split:
    """For an execution with so many ranges. Few ranges need no blocks, however far their numbers reach."""
    return Split(
        BLOCK_BITS if ranges > block_ranges else ONE_BLOCK_BITS, min(max(1, round(ranges / slot_ranges)), 1000)
    )


@dataclass
class Packer:
    """Packs the ranges of one execution, as they are read in one task."""

    split: Split
    _left: dict[tuple[Any, ...], dict[int, int]] = field(default_factory=dict)

    def sends(self, rows: pa.Table) -> Iterator[tuple[int, pa.Table]]:
        """(slot, rows of PACKED) from good rows of `outcome`."""
        nothing = np.zeros(len(rows), np.int64)
        others = dict.fromkeys(("group", "consumer", "epoch", "ordinal", "redelivered"), nothing)
        columns = others | {"kind": _places(rows["outcome"], KINDS)}
        yield from self._packed(columns | _numbers(rows, ("producer", "partition", "first", "last")), [""])

    def arrivals(self, rows: pa.Table) -> Iterator[tuple[int, pa.Table]]:
        """(slot, rows of PACKED) from good rows of `sequence`."""
        groups = rows["group"].unique().to_pylist()
        columns = {"group": _places(rows["group"], groups), "kind": np.full(len(rows), RECEIVED)}
        names = ("producer", "partition", "first", "last", "consumer", "epoch", "ordinal", "redelivered")
        yield from self._packed(columns | _numbers(rows, names), groups)

    def marks(self) -> Iterator[tuple[int, pa.Table]]:
        """After all rows: for every block that readers left, when they did, as far as was seen here."""
        rows: list[tuple[Any, ...]] = []
        for (group, producer, partition, consumer, epoch), by_block in self._left.items():
            soonest, above = None, sorted(by_block, reverse=True)
            for block in range(above[0] - 1, -1, -1):
                if above and above[0] > block:
                    came = by_block[above.pop(0)]
                    soonest = came if soonest is None else min(soonest, came)
                rows.append((group, producer, partition, block, MARK, consumer, epoch, 1, 0, [], [], [soonest]))
        if rows:
            columns = zip(*rows, strict=True)
            marks = pa.table([pa.array(c, f.type) for c, f in zip(columns, PACKED, strict=True)], PACKED)
            yield from self._by_slot(marks)

    def _packed(self, columns: dict[str, Int64s], groups: list[str]) -> Iterator[tuple[int, pa.Table]]:
        if not len(columns["first"]):
            return
        columns["in_order"] = (columns["redelivered"] < columns["last"] - columns["first"] + 1).astype(np.int64)
        columns = _in_blocks(columns, self.split.block_bits)
        order, starts = _grouped([columns[name] for name in _KEY])
        at = {name: columns[name][order] for name in (*_ARRAYS, "redelivered")}
        heads = order[starts]
        offsets = np.append(starts, len(order)).astype(np.int32)
        made: dict[str, Any] = {name: columns[name][heads] for name in _KEY[1:]}
        made["group"] = pa.array(groups, pa.string()).take(pa.array(columns["group"][heads]))
        made["redelivered"] = np.add.reduceat(at["redelivered"], starts)
        made |= {name: pa.ListArray.from_arrays(offsets, at[name]) for name in _ARRAYS}
        if (made["kind"] != RECEIVED).all():  # in which order was sent does not count
            made["ordinal"] = pa.ListArray.from_arrays(np.zeros_like(offsets), at["ordinal"][:0])
        packed = pa.table([made[name] for name in PACKED.names], PACKED)
        self._note(packed, np.minimum.reduceat(at["ordinal"], starts))
        yield from self._by_slot(packed)

    def _note(self, packed: pa.Table, soonest: Int64s) -> None:
        """Remember when each reader first got a number of each block."""
        if self.split.block_bits == ONE_BLOCK_BITS:
            return
        names = ("group", "producer", "partition", "consumer", "epoch", "block", "kind", "in_order")
        for (*reader, block, kind, in_order), ordinal in zip(
            zip(*(packed[n].to_pylist() for n in names), strict=True), soonest.tolist(), strict=True
        ):
            if kind == RECEIVED and in_order:
                seen = self._left.setdefault(tuple(reader), {})
                seen[block] = min(ordinal, seen.get(block, ordinal))

    def _by_slot(self, packed: pa.Table) -> Iterator[tuple[int, pa.Table]]:
        if self.split.slots == 1:
            yield 0, packed
            return
        place = [packed[name].to_numpy() for name in ("producer", "partition", "block")]
        slot = (place[0] * 1_000_003 + place[1] * 7_919 + place[2]) % self.split.slots
        for number in np.unique(slot).tolist():
            yield number, packed.filter(pa.array(slot == number))


def lane_accounts(packed: pa.Table, wanted_groups: int) -> pa.Table:
    """Rows of LANE_ACCOUNT: by lane and block one without a group, for a group that received nothing there, and for each
    group that did the difference from it. So a group's counts are the sum of the former and of its own, whether or not it
    left anything in a lane. Lost ranges are those of the group; of the former only where a group may need them.
    """
    names = ("producer", "partition", "block")
    blocks, starts = _grouped([packed[name].to_numpy() for name in names])
    rows = []
    for lane in np.split(blocks, starts[1:]) if len(blocks) else []:
        of_lane = packed.take(pa.array(lane))
        where = {name: of_lane[name][0].as_py() for name in names}
        streams, left_at = _streams(of_lane)
        found = accounts(streams, left_at)
        if not found:
            continue
        nothing = found.pop(None)
        rows.append(_row(where, None, nothing, dict.fromkeys(COUNTS, 0), ranges=len(found) < wanted_groups))
        rows += [_row(where, group, account, nothing.counts) for group, account in found.items()]
    return pa.Table.from_pylist(rows, LANE_ACCOUNT)


def _row(
    where: Mapping[str, int], group: str | None, found: Account, less: Mapping[str, int], *, ranges: bool = True
) -> dict[str, Any]:
    counts = {name: found.counts[name] - less[name] for name in COUNTS}
    lost: dict[str, Any] = {
        "lost_first": found.lost_first if ranges else [],
        "lost_last": found.lost_last if ranges else [],
    }
    return {**where, "group": group, **counts, **lost}


def _streams(of_lane: pa.Table) -> tuple[list[Stream], dict[tuple[str, int, int], int]]:
    arrays = {name: of_lane[name].combine_chunks() for name in _ARRAYS}
    streams: list[Stream] = []
    left_at: dict[tuple[str, int, int], int] = {}
    columns = [of_lane[n].to_pylist() for n in ("kind", "group", "consumer", "epoch", "in_order", "redelivered")]
    for i, (kind, group, consumer, epoch, in_order, redelivered) in enumerate(zip(*columns, strict=True)):
        first, last, ordinal = (arrays[name][i].values.to_numpy() for name in _ARRAYS)
        if kind == MARK:
            reader = (group, consumer, epoch)
            left_at[reader] = min(int(ordinal[0]), left_at.get(reader, int(ordinal[0])))
        else:
            streams.append(Stream(kind, first, last, group, consumer, epoch, bool(in_order), redelivered, ordinal))
    return streams, left_at


def _places(words: pa.ChunkedArray, among: Sequence[str]) -> Int64s:
    """Where in `among` each word is."""
    coded = words.combine_chunks()
    coded = coded if pa.types.is_dictionary(coded.type) else coded.dictionary_encode()
    place = np.array([among.index(word) for word in coded.dictionary.to_pylist()], np.int64)
    return place[coded.indices.to_numpy()] if len(coded) else np.zeros(0, np.int64)


def _numbers(rows: pa.Table, names: tuple[str, ...]) -> dict[str, Int64s]:
    return {name: rows[name].to_numpy().astype(np.int64, copy=False) for name in names}


def _in_blocks(columns: dict[str, Int64s], bits: int) -> dict[str, Int64s]:
    """The ranges cut at the ends of blocks, with the number of the block. What was redelivered stays with the first piece."""
    first, last = columns["first"], columns["last"]
    begin, end = first >> bits, last >> bits
    pieces = end - begin + 1
    if pieces.max() == 1:
        return columns | {"block": begin}
    owner = np.repeat(np.arange(len(first)), pieces)
    number = np.arange(len(owner)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    block = begin[owner] + number
    cut = {name: column[owner] for name, column in columns.items()}
    cut["first"] = np.maximum(cut["first"], block << bits)
    cut["last"] = np.minimum(cut["last"], ((block + 1) << bits) - 1)
    cut["redelivered"] = np.where(number == 0, cut["redelivered"], 0)
    return cut | {"block": block}


def _grouped(columns: list[Int64s]) -> tuple[Int64s, Int64s]:
    """(order, starts): rows with the same values side by side, in their order, and where each such group begins."""
    code = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        low, high = (int(column.min()), int(column.max())) if len(column) else (0, 0)
        if high == low:
            continue
        if int(code.max()) >= (1 << 62) // (high - low + 1):
            code = np.unique(code, return_inverse=True)[1].astype(np.int64)
            column = np.unique(column, return_inverse=True)[1].astype(np.int64)
            low, high = 0, int(column.max())
        code = code * (high - low + 1) + (column - low)
    encoded = pa.array(code).dictionary_encode()
    kinds = len(encoded.dictionary)
    index = encoded.indices.to_numpy()
    if kinds < 2:
        return np.arange(len(code)), np.zeros(min(kinds, 1), np.int64)
    index = index.astype(np.uint16) if kinds <= 1 << 16 else index  # numpy sorts short numbers by counting
    order = np.argsort(index, kind="stable")
    return order, np.concatenate([[0], np.cumsum(np.bincount(index, minlength=kinds))[:-1]])
