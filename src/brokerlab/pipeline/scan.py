"""What one task does with the files it is given: reads each once, judges its rows, and reduces them to what the tables need.

Runs in Spark's workers: this and what it imports needs Python with pyarrow and numpy, and nothing else.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from brokerlab.evidence.tables import EVIDENCE_TABLES
from brokerlab.model.arrow import arrow_schema, with_later_columns
from brokerlab.model.tables import Column, Table
from brokerlab.pipeline import agents, latency, rates, silence
from brokerlab.pipeline.packing import Packer, Split
from brokerlab.pipeline.recount import Counting
from brokerlab.pipeline.rules import Rule, judged
from brokerlab.results.tables import QUARANTINED_ROW

# Parts: each is worked on by itself.
LANES, EXECUTION, MESSAGES, RECOUNT, NOTES = "lanes", "execution", "messages", "recount", "notes"
PARTIAL = Table(
    "partial",
    "What a task has made of the files it read: rows of one kind, of one part of an execution.",
    (
        Column("cell", "string", "", "cell of the sweep"),
        Column("repeat", "int", "1", "repeat of the cell"),
        Column("part", "string", "", "lanes, execution, messages, recount or notes"),
        Column("slot", "int", "1", "number of the part where there are several alike"),
        Column("kind", "string", "", "what the rows are"),
        Column("rows", "binary", "", "an Arrow stream"),
    ),
)
PARTIAL_KEY = ("cell", "repeat", "part", "slot")
SEEN = pa.schema([("table", pa.string()), ("cell", pa.string()), ("repeat", pa.int32()), ("group", pa.string()), ("good", pa.int64()), ("set_aside", pa.int64())])  # fmt: skip
ARRIVALS = pa.schema([("cell", pa.string()), ("repeat", pa.int32()), ("group", pa.string()), ("received", pa.int64()), ("first_mono_ns", pa.int64()), ("last_mono_ns", pa.int64())])  # fmt: skip
DAMAGED = pa.schema([("path", pa.string()), ("reason", pa.string())])
ROWS_AT_ONCE = 1 << 20
BYTES_AT_ONCE = 16 << 20
LARGE_BYTES = 1 << 20
MANY_ROWS = 10_000  # from here on words of these tables are read as numbers with a dictionary
WITH_DICTIONARIES = ("sequence", "outcome", "message")
_ERROR = ("cell", "repeat", "kind", "text", "count")
_READING = ("cell", "repeat", "subject", "metric", "unit", "second_unix_s", "at_mono_ns", "value")


@dataclass(frozen=True)
class FilePart:
    """A readable file of one table, or some of its row groups (from, to). A compacted one says which segments (path, rows)
    it stands for, in the order of its rows."""

    path: str
    execution: str
    table: str
    row_groups: tuple[int, int] | None = None
    segments: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True)
class Scan:
    """The function of a task: its number comes in, rows of PARTIAL go out."""

    tasks: Sequence[Sequence[FilePart]]
    rules: Mapping[str, Sequence[Rule]]  # by table
    splits: Mapping[str, Split]  # by execution
    faults: Mapping[tuple[str, int], Sequence[silence.After]] = field(default_factory=dict)
    rounds: int = 0  # of finer silences

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        out = _Envelopes()
        for batch in batches:
            for task in batch["id"].to_pylist():
                for _, of_execution in groupby(self.tasks[task], key=lambda p: p.execution):
                    yield from self._execution(list(of_execution), out)
        yield from out.flush()

    def _execution(self, parts: list[FilePart], out: _Envelopes) -> Iterator[pa.RecordBatch]:
        packers: dict[tuple[str, int], Packer] = {}
        counting: dict[tuple[str, int], Counting] = defaultdict(Counting)
        for name, of_table in groupby(parts, key=lambda p: p.table):
            for rows in self._good(EVIDENCE_TABLES[name], list(of_table), out):
                for (cell, repeat), mine in by_execution(rows):
                    split = self.splits.get(f"{cell}-r{repeat}", Split())
                    packer = packers.setdefault((cell, repeat), Packer(split))
                    if name == "message" and not self.rounds:
                        counting[cell, repeat].add(mine)
                    self._reduce(name, cell, repeat, mine, packer, out)
                    yield from out.full()
        for (cell, repeat), packer in packers.items():
            for slot, marks in packer.marks():
                out.add(cell, repeat, LANES, slot, "packed", marks)
        for (cell, repeat), messages in counting.items():
            out.add(cell, repeat, RECOUNT, 0, "counted", messages.rows())

    def _good(self, table: Table, parts: list[FilePart], out: _Envelopes) -> Iterator[pa.Table]:
        """Good rows, many files together; what is to be set aside and what cannot be read goes out as notes."""
        for chunk in read_parts(table, parts, out.damaged):
            good, bad = judged(chunk.rows, self.rules[table.name])
            out.note("seen", seen(table, good, len(bad)))
            if bad:
                out.note("quarantined", quarantined(table, chunk, bad))
            if len(good):
                yield good

    def _reduce(self, table: str, cell: str, repeat: int, rows: pa.Table, packer: Packer, out: _Envelopes) -> None:
        if table == "sequence":
            out.note("arrivals", arrivals(rows))
            for slot, packed in packer.arrivals(rows):
                out.add(cell, repeat, LANES, slot, "packed", packed)
        elif table == "outcome":
            for slot, packed in packer.sends(rows):
                out.add(cell, repeat, LANES, slot, "packed", packed)
        elif table == "message":
            faults = self.faults.get((cell, repeat), ())
            if faults:
                out.add(cell, repeat, MESSAGES, 0, "silence", silence.silences(rows, faults, self.rounds))
        elif table == "error":
            out.note("error", rows.select(list(_ERROR)))
        else:
            for kind, made in _of_seconds(table, rows):
                out.add(cell, repeat, EXECUTION, 0, kind, made)


def _of_seconds(table: str, rows: pa.Table) -> Iterator[tuple[str, pa.Table]]:
    """What the tables by second need of a chunk of evidence."""
    if table == "interval":
        found = latency.samples(rows)
        yield "per_second", latency.merging(latency.SECOND_KEY)(found)
        yield "delays", agents.send_delays(found)
        yield "due", rows.select([*rates.KEY, "phase", "due"])
    elif table == "activity":
        yield "activity", rows
    elif table == "reading":
        yield "reading", rows.select(list(_READING))


@dataclass(frozen=True)
class Chunk:
    """Rows of several files, one after the other: of each its path, the place in the file of the first row, and how many."""

    rows: pa.Table
    origins: Sequence[tuple[str, int, int]]

    def origin(self, row: int) -> tuple[str, int]:
        """The file that a row is from, and its place there."""
        ends = np.cumsum([n for _, _, n in self.origins])
        which = int(np.searchsorted(ends, row, side="right"))
        path, first, n = self.origins[which]
        return path, first + row - int(ends[which] - n)


def read_parts(table: Table, parts: Sequence[FilePart], damaged: Callable[[str, str], None]) -> Iterator[Chunk]:
    """The rows of these files with all columns of the table, many files together. For a file that cannot be read to its
    end `damaged` is called with (path, reason), and none of its rows is among them."""
    waiting: list[pa.Table] = []
    origins: list[tuple[str, int, int]] = []
    count = 0
    for rows, places in _read_each(table, parts, damaged):
        waiting.append(rows)
        origins += places
        count += len(rows)
        if count >= ROWS_AT_ONCE:
            yield Chunk(_together(waiting), origins)
            waiting, origins, count = [], [], 0
    if waiting:
        yield Chunk(_together(waiting), origins)


def _read_each(
    table: Table, parts: Sequence[FilePart], damaged: Callable[[str, str], None]
) -> Iterator[tuple[pa.Table, list[tuple[str, int, int]]]]:
    """Rows with their origins, as in Chunk. The segments themselves are read where a compacted file cannot be."""
    for part in parts:
        try:
            rows, first = _read(table, part)
        except (pa.ArrowException, OSError, ValueError) as e:
            if part.segments:
                yield from _read_each(
                    table, [FilePart(p, part.execution, part.table) for p, _ in part.segments], damaged
                )
            else:
                damaged(part.path, " ".join(str(e).split())[:200])
            continue
        yield rows, [(path, 0, n) for path, n in part.segments] or [(part.path, first, len(rows))]


def _read(table: Table, part: FilePart) -> tuple[pa.Table, int]:
    """Its rows, and the place of the first in the file."""
    first = 0
    with pq.ParquetFile(part.path) as file:
        meta, present = file.metadata, file.schema_arrow.names
        small = part.row_groups is None and meta.num_rows < MANY_ROWS
        if small:
            found = file.read(use_threads=False)
            expected = meta.num_rows
    if not small:
        words = [c.name for c in table.columns if c.type == "string" and c.name in present]
        words = words if table.name in WITH_DICTIONARIES else []
        begin, end = part.row_groups or (0, meta.num_row_groups)
        with pq.ParquetFile(part.path, read_dictionary=words) as file:
            found = file.read_row_groups(list(range(begin, end)), use_threads=False)
        first, expected = (sum(meta.row_group(i).num_rows for i in of) for of in (range(begin), range(begin, end)))
    if len(found) != expected:
        raise ValueError(f"{len(found)} rows where the footer says {expected}")
    if found.schema.names != list(table.names()):
        found = with_later_columns(found, table)
    return pa.table(found.columns, names=found.column_names), first


def _together(tables: list[pa.Table]) -> pa.Table:
    if any(t.schema != tables[0].schema for t in tables):
        tables = [_plain(t) for t in tables]
    return pa.concat_tables(tables).unify_dictionaries()


def _plain(rows: pa.Table) -> pa.Table:
    """Without dictionaries, and lists with elements of one name."""
    return rows.cast(pa.schema([(f.name, _plain_type(f.type)) for f in rows.schema]))


def _plain_type(of: pa.DataType) -> pa.DataType:
    if pa.types.is_dictionary(of):
        return of.value_type
    return pa.list_(of.value_type) if pa.types.is_list(of) else of


def by_execution(rows: pa.Table) -> Iterator[tuple[tuple[str, int], pa.Table]]:
    """The rows of each (cell, repeat), which are nearly always all of the same."""
    cells, repeats = rows["cell"].unique().to_pylist(), rows["repeat"].unique().to_pylist()
    if len(cells) == len(repeats) == 1:
        yield (cells[0], repeats[0]), rows
        return
    for cell in cells:
        for repeat in repeats:
            mine = rows.filter(pc.and_(pc.equal(rows["cell"], cell), pc.equal(rows["repeat"], repeat)))
            if len(mine):
                yield (cell, repeat), mine


def seen(table: Table, good: pa.Table, set_aside: int) -> pa.Table:
    """Rows of SEEN: how many rows of what execution and group there were."""
    rows: list[dict[str, Any]] = [{"table": table.name, "good": 0, "set_aside": set_aside}] if set_aside else []
    for (cell, repeat), mine in by_execution(good) if len(good) else ():
        where = {"table": table.name, "cell": cell, "repeat": repeat, "set_aside": 0}
        groups = mine["group"].unique().to_pylist() if "group" in table.names() else [None]
        rows += [where | {"group": group, "good": len(mine) if i == 0 else 0} for i, group in enumerate(groups)]
    return pa.Table.from_pylist(rows, SEEN)


def quarantined(table: Table, chunk: Chunk, bad: Mapping[int, str]) -> pa.Table:
    """Rows of quarantined_row: each row that is set aside, by its place in the chunk, as JSON without what is missing."""
    made = []
    for place, row in zip(bad, _plain(chunk.rows.take(pa.array(list(bad)))).to_pylist(), strict=True):
        kept = {k: _json_value(v) for k, v in row.items() if v is not None}
        text = json.dumps(kept, separators=(",", ":"), ensure_ascii=False)
        file, file_row = chunk.origin(place)
        where = {"cell": row.get("cell") or "", "repeat": row.get("repeat") or 0, "file": file, "file_row": file_row}
        made.append({"table": table.name, **where, "reason": bad[place], "row": text})
    return pa.Table.from_pylist(made, arrow_schema(QUARANTINED_ROW.computed()).remove_metadata())


def _json_value(value: Any) -> Any:
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def arrivals(rows: pa.Table) -> pa.Table:
    """Rows of ARRIVALS: how many messages of which group came between which times."""
    made = []
    for (cell, repeat), mine in by_execution(rows):
        groups = mine["group"].unique().to_pylist()
        for group in groups:
            of = mine if len(groups) == 1 else mine.filter(pc.equal(mine["group"], group))
            received = int((of["last"].to_numpy() - of["first"].to_numpy() + 1).sum())
            first, last = pc.min(of["first_mono_ns"]).as_py(), pc.max(of["last_mono_ns"]).as_py()
            made.append((cell, repeat, group, received, first, last))
    return pa.table([pa.array(c, f.type) for c, f in zip(zip(*made, strict=True), ARRIVALS, strict=True)], ARRIVALS)


def packed_rows(rows: pa.Table) -> bytes:
    """The rows as an Arrow stream, compressed where they are many."""
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="lz4" if rows.nbytes >= LARGE_BYTES else None)
    with pa.ipc.new_stream(sink, rows.schema, options=options) as stream:
        stream.write_table(rows)
    return bytes(sink.getvalue())


def unpacked_rows(packed: Sequence[Any]) -> pa.Table:
    """The rows of all these Arrow streams together."""
    return pa.concat_tables([pa.ipc.open_stream(pa.py_buffer(p)).read_all() for p in packed]).unify_dictionaries()


class _Envelopes:
    """Rows of PARTIAL that wait to be passed on."""

    def __init__(self) -> None:
        self._rows: list[tuple[str, int, str, int, str, bytes]] = []
        self._bytes = 0
        self._schema = pa.schema([("cell", pa.string()), ("repeat", pa.int32()), ("part", pa.string()), ("slot", pa.int32()), ("kind", pa.string()), ("rows", pa.binary())])  # fmt: skip

    def add(self, cell: str, repeat: int, part: str, slot: int, kind: str, rows: pa.Table) -> None:
        if len(rows):
            packed = packed_rows(rows)
            self._rows.append((cell, repeat, part, slot, kind, packed))
            self._bytes += len(packed)

    def note(self, kind: str, rows: pa.Table) -> None:
        self.add("", 0, NOTES, 0, kind, rows)

    def damaged(self, path: str, reason: str) -> None:
        self.note("damaged", pa.table([[path], [reason]], DAMAGED))

    def full(self) -> Iterator[pa.RecordBatch]:
        if self._bytes >= BYTES_AT_ONCE:
            yield from self.flush()

    def flush(self) -> Iterator[pa.RecordBatch]:
        if self._rows:
            columns = zip(*self._rows, strict=True)
            arrays = [pa.array(c, f.type) for c, f in zip(columns, self._schema, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, schema=self._schema)
        self._rows, self._bytes = [], 0


def tasks_of(files: Sequence[tuple[FilePart, int]], tasks: int) -> list[list[FilePart]]:
    """The files (each with its weight) dealt to at most `tasks` tasks, as evenly as can be with neighbours together:
    what one task reads of an execution is reduced there."""
    ordered = sorted(files, key=lambda f: (f[0].execution, f[0].table, f[0].path, f[0].row_groups or ()))
    ends = np.cumsum([weight for _, weight in ordered])
    if not len(ends):
        return []
    share = np.minimum((ends - 1) * tasks // int(ends[-1]), tasks - 1).tolist()
    made: dict[int, list[FilePart]] = {}
    for (part, _), number in zip(ordered, share, strict=True):
        made.setdefault(number, []).append(part)
    return [made[number] for number in sorted(made)]
