"""recount: delivery and latencies once more, from single messages, where they were kept.

Another way than ranges and histograms merged from agents: every sequence number is a bit, and every time is looked up among
the bounds of all buckets. What agents add up and what they write by message go different ways from the same tick on, so an
error in either shows as a difference. Runs in Spark's workers, all but the last step.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from brokerlab.model.arrow import arrow_schema
from brokerlab.model.blocks import Int64s
from brokerlab.model.histogram import BUCKETS, lower_bounds_ns
from brokerlab.model.tables import Column, Table
from brokerlab.results.columns import CELL, GROUP, REPEAT, count

if TYPE_CHECKING:
    from brokerlab.model.execution_id import ExecutionId

    _Figure = tuple[ExecutionId, str, str]  # execution, figure, group

Row = Mapping[str, Any]
RECEIVED = "received"
MEASURE_OF = {"acknowledged": "publish_latency", RECEIVED: "end_to_end_latency"}
MEASURES = tuple(MEASURE_OF.values())
COUNTS = ("acknowledged", "rejected", "received", "duplicated", "arrived")  # arrived: acknowledged, and received
BITS = 1 << 15  # numbers of a lane that share a bitmap
_BOUNDS_NS = lower_bounds_ns(np.arange(1, BUCKETS))
_NAMES = ("cell", "group", "outcome")
_NUMBERS = ("repeat", "producer", "partition")

COUNTED_MESSAGES = Table(
    "counted_messages",
    "What single messages come to: numbers as bitmaps, or latencies as samples in a bucket. As many rows as were counted together.",
    (
        CELL, REPEAT, GROUP,
        Column("outcome", "string", "", "acknowledged, rejected or received"),
        Column("producer", "int", "1", "number of the producer, -1 for latencies"),
        Column("partition", "int", "1", "cell-wide partition number, -1 for latencies"),
        Column("place", "long", "1", "numbers from place x 32,768 on; of latencies the bucket"),
        Column("bits", "array<long>", "1", "one bit for each number, 64 to a word; empty for latencies"),
        count("n", "messages"),
    ),
)  # fmt: skip


RECOUNTED = Table(
    "recounted",
    "What the single messages of an execution come to.",
    (
        CELL, REPEAT, GROUP,
        Column("figure", "string", "", "one of COUNTS, or a latency"),
        Column("bucket", "int", "1", "bucket of a latency, -1 for counts"),
        count("n", "messages"),
    ),
)  # fmt: skip


class Counting:
    """Counts messages block by block, in memory for one bit a message."""

    def __init__(self) -> None:
        self._seen: dict[tuple[Any, ...], npt.NDArray[np.bool_]] = defaultdict(lambda: np.zeros(BITS, np.bool_))
        self._n: dict[tuple[Any, ...], int] = defaultdict(int)
        self._samples: dict[tuple[Any, ...], Int64s] = defaultdict(lambda: np.zeros(BUCKETS, np.int64))

    def add(self, rows: pa.Table) -> None:
        """Rows of the evidence table `message`; what is unknown counts nowhere."""
        columns = {name: _encoded(rows[name]) for name in _NAMES}
        columns |= {name: _numbered(rows[name].to_numpy()) for name in _NUMBERS}
        sequence = rows["sequence"].to_numpy()
        latency_ns = rows["at_mono_ns"].to_numpy() - rows["scheduled_mono_ns"].to_numpy()
        for key, place in _grouped(columns, (*_NAMES, *_NUMBERS)):
            if key[2] != "unknown":
                self._add_numbers(key, sequence[place])
                self._add_latencies(key[:4], latency_ns[place])

    def _add_numbers(self, lane: tuple[Any, ...], sequence: Int64s) -> None:
        order = np.argsort(sequence, kind="stable")
        of, at = np.divmod(sequence[order], BITS)
        starts = np.flatnonzero(np.diff(of, prepend=-1))
        for begin, end in zip(starts.tolist(), [*starts[1:].tolist(), len(of)], strict=True):
            key = (*lane, int(of[begin]))
            self._seen[key][at[begin:end]] = True
            self._n[key] += end - begin

    def _add_latencies(self, key: tuple[Any, ...], latency_ns: Int64s) -> None:
        if key[2] in MEASURE_OF:
            bucket = np.searchsorted(_BOUNDS_NS, latency_ns[latency_ns >= 0], side="right")
            self._samples[key] += np.bincount(bucket, minlength=BUCKETS)

    def rows(self) -> pa.Table:
        """COUNTED_MESSAGES of all that was added."""
        made = []
        for key, seen in self._seen.items():
            made.append((*key, np.packbits(seen).view(np.int64).tolist(), self._n[key]))
        for names, samples in self._samples.items():
            made += [(*names, -1, -1, int(b), [], int(samples[b])) for b in np.flatnonzero(samples)]
        fields = (*_NAMES, *_NUMBERS, "place", "bits", "n")
        columns = dict(zip(fields, zip(*made, strict=True), strict=True)) if made else dict.fromkeys(fields, ())
        schema = arrow_schema(COUNTED_MESSAGES).remove_metadata()
        return pa.table({f.name: pa.array(columns[f.name], f.type) for f in schema}, schema)


def _encoded(column: pa.ChunkedArray) -> tuple[Int64s, list[Any]]:
    """Each row's place in a list of the different values."""
    found = column.combine_chunks().dictionary_encode()
    return found.indices.to_numpy().astype(np.int64), found.dictionary.to_pylist()


def _numbered(column: npt.NDArray[Any]) -> tuple[Int64s, list[Any]]:
    values, place = np.unique(column, return_inverse=True)
    return place.astype(np.int64), values.tolist()


def _grouped(
    columns: Mapping[str, tuple[Int64s, list[Any]]], names: tuple[str, ...]
) -> Iterator[tuple[tuple[Any, ...], Int64s]]:
    """Values of the named columns, and the rows that have them."""
    code = np.zeros(len(columns[names[0]][0]), np.int64)
    for name in names:
        places, values = columns[name]
        code = code * len(values) + places
    order = np.argsort(code, kind="stable")
    starts = np.flatnonzero(np.diff(code[order], prepend=-1))
    for begin, end in zip(starts.tolist(), [*starts[1:].tolist(), len(order)], strict=True):
        rows = order[begin:end]
        yield tuple(columns[name][1][columns[name][0][rows[0]]] for name in names), rows


def recounted(counted: pa.Table) -> pa.Table:
    """Rows of RECOUNTED of one execution, or of several, from all that was counted of it."""
    made = [
        (*execution, group, name, -1, n)
        for (execution, group), counts in _counted(counted).items()
        for name, n in counts.items()
    ]
    samples = counted.filter(pc.less(counted["producer"], 0)).drop_columns(["bits"]).to_pylist()
    made += [(r["cell"], r["repeat"], r["group"], MEASURE_OF[r["outcome"]], r["place"], r["n"]) for r in samples]
    schema = arrow_schema(RECOUNTED).remove_metadata()
    columns = zip(*made, strict=True) if made else [()] * len(schema)
    return pa.table([pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)], schema)


def _counted(messages: pa.Table) -> dict[tuple[tuple[str, int], str], dict[str, int]]:
    """COUNTS by execution (cell, repeat) and group, the empty one for sends."""
    seen: dict[tuple[Any, ...], dict[int, npt.NDArray[np.uint64]]] = defaultdict(dict)
    n: dict[tuple[Any, ...], int] = defaultdict(int)
    bits = messages["bits"].combine_chunks()
    words, ends = bits.flatten().to_numpy().view(np.uint64), np.cumsum(bits.value_lengths().to_numpy())
    for row, end in zip(messages.drop_columns(["bits"]).to_pylist(), ends.tolist(), strict=True):
        if row["producer"] >= 0:
            key = ((row["cell"], row["repeat"]), row["group"], row["outcome"], row["producer"], row["partition"])
            these, known = words[end - BITS // 64 : end], seen[key].get(row["place"])
            seen[key][row["place"]] = these if known is None else known | these
            n[key] += row["n"]
    found: dict[tuple[tuple[str, int], str], dict[str, int]] = defaultdict(lambda: dict.fromkeys(COUNTS, 0))
    for (execution, group, outcome, *lane), mine in seen.items():
        counts, of = found[execution, group], n[execution, group, outcome, *lane]
        acknowledged = seen.get((execution, "", "acknowledged", *lane), {})
        if outcome == RECEIVED:
            counts["received"] += of
            counts["duplicated"] += of - _ones(mine)
            counts["arrived"] += _ones({p: b & acknowledged[p] for p, b in mine.items() if p in acknowledged})
        elif outcome == "acknowledged":
            counts["acknowledged"] += _ones(mine)
        else:
            counts["rejected"] += _ones({p: b & ~acknowledged[p] if p in acknowledged else b for p, b in mine.items()})
    return dict(found)


def _ones(bits: Mapping[int, npt.NDArray[np.uint64]]) -> int:
    return sum(int(np.bitwise_count(words).sum()) for words in bits.values())


def recount_rows(
    messages: Iterable[Row], delivery: Iterable[Row], histograms: Iterable[Row], whole: Collection[ExecutionId]
) -> list[dict[str, Any]]:
    """Rows of the table of that name, of the executions that are `whole`: where evidence is missing, the two ways must
    differ. `messages` are rows of RECOUNTED, the others of result tables."""
    from brokerlab.model.execution_id import ExecutionId  # pydantic: not where this module runs in an executor

    again: dict[_Figure, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for row in messages:
        again[ExecutionId.of(row), row["figure"], row["group"]][row["bucket"]] += row["n"]
    found = []
    for row in delivery:
        execution, group = ExecutionId.of(row), row["group"]
        if execution not in whole:
            continue
        counts = {name: sum(again[execution, name, ""].values()) for name in ("acknowledged", "rejected")}
        if group:
            counts["received"] = sum(again[execution, "received", group].values())
            counts["lost"] = counts["acknowledged"] - sum(again[execution, "arrived", group].values())
            if not row["unexpected"]:  # a number that was never sent is no duplicate of anything
                counts["duplicated"] = sum(again[execution, "duplicated", group].values())
        found += [_row(execution, group, name, row[name], n, abs(row[name] - n)) for name, n in counts.items()]
    return found + _latency_rows(again, histograms, whole)


def _latency_rows(
    again: Mapping[_Figure, Mapping[int, int]], histograms: Iterable[Row], whole: Collection[ExecutionId]
) -> list[dict[str, Any]]:
    """One row per execution, latency and group: samples, and how many of them are in other buckets."""
    from brokerlab.model.execution_id import ExecutionId

    told: dict[_Figure, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for row in histograms:
        if row["measure"] in MEASURES and row["repeat"] > 0:
            for bucket, n in zip(row["bucket"], row["count"], strict=True):
                told[ExecutionId.of(row), row["measure"], row["group"]][bucket] += n
    found = []
    both = told.keys() | {key for key in again if key[1] in MEASURES}
    for key in sorted(both, key=lambda k: (str(k[0]), k[1], k[2])):
        if key[0] in whole:
            first, second = told.get(key, {}), again.get(key, {})
            differing = sum(abs(first.get(b, 0) - second.get(b, 0)) for b in first.keys() | second.keys())
            found.append(_row(key[0], key[2], key[1], sum(first.values()), sum(second.values()), differing))
    return found


def _row(execution: ExecutionId, group: str, figure: str, told: int, messages: int, difference: int) -> dict[str, Any]:
    where = {"cell": execution.cell, "repeat": execution.repeat, "group": group, "figure": figure}
    return {**where, "as_told": told, "by_message": messages, "difference": difference}
