"""A run that goes on: its closed segments are scanned batch by batch, and the tables made of all that was scanned so far.

    follow/batches/000007.arrow    what the scan has made of the segments of one batch, and which segments these were
    follow/so-far/                 documents, tables and verdict.json as of the last batch

Scanning and making tables are those of the analysis (pipeline.work), which adds partial results in any order: nothing is
dropped for being late, and after the last segment the tables are those of the analysis. A batch is one file that is
replaced as a whole, so a batch that is repeated after a crash counts once. Single messages are not read: what needs them
(fault, recount) comes with the analysis.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from brokerlab.errors import BusyError
from brokerlab.evidence.identity import Expected, Identity
from brokerlab.evidence.segments import Segment, UnreadableSegment, new_segments
from brokerlab.evidence.tables import EVENT
from brokerlab.model.arrow import arrow_schema
from brokerlab.pipeline.analyze import judged_tables, write_tables
from brokerlab.pipeline.bronze import READ, Bronze
from brokerlab.pipeline.executions import execution_facts
from brokerlab.pipeline.files import file_parts
from brokerlab.pipeline.gold import assembled, read_journal
from brokerlab.pipeline.packing import Split
from brokerlab.pipeline.scan import PARTIAL, Scan, tasks_of, unpacked_rows
from brokerlab.pipeline.silver import rules
from brokerlab.pipeline.work import Make, by_table, made_of, scanned
from brokerlab.results.directory import RunDirectory, write_json
from brokerlab.results.executions import all_executions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FOLDER = "follow"
SPLIT = Split(slots=8)  # the same in every batch; how long lanes will be is not known yet
_KEY = b"brokerlab.batch"
_WHOSE = ("execution", "attempt")  # columns before those of PARTIAL


@dataclass(frozen=True)
class Batch:
    """Segments that came together. `partial`: rows of PARTIAL, each with the execution and attempt it is of."""

    segments: tuple[Segment, ...]
    unreadable: tuple[UnreadableSegment, ...]
    partial: pa.Table


@dataclass(frozen=True)
class SoFar:
    """How much the tables are made of."""

    batches: int
    segments: int
    rows: int


class RunSoFar:
    """One run directory, with what was read of it."""

    def __init__(self, run: RunDirectory) -> None:
        self.run = RunDirectory(run.path.resolve())
        self.folder = self.run.path / FOLDER
        self.checkpoint = self.folder / "checkpoint"
        self.tables = RunDirectory(self.folder / "so-far")

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Only one process follows a run. BusyError for a second one."""
        self.folder.mkdir(exist_ok=True)
        with (self.folder / "lock").open("a") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise BusyError(f"{self.run.name} is followed already", hint="one process is enough") from None
            yield

    def add(self, spark: SparkSession, number: int, paths: Sequence[Path]) -> None:
        """Scan these closed segments as batch `number`, in place of what was scanned under this number before."""
        plan, state = self.run.plan(), self.run.state()
        expected = Expected(plan.run, {name: e.attempt for name, e in state.executions.items()})
        before = [s for other, batch in self._batches() if other != number for s in batch.segments]
        good: dict[str, list[Segment]] = {}
        bad: list[UnreadableSegment] = []
        for table in READ:
            mine = [p for p in paths if p.parent.name == table.name]
            known = [s for s in before if s.table == table.name]
            good[table.name], unreadable = new_segments(self.run.path, table, mine, expected, known)
            bad += unreadable
        bronze, partials = Bronze(good, tuple(bad), self.run.path), []
        for execution in sorted({s.execution for of in good.values() for s in of}):
            bronze, rows = _scanned(spark, bronze, execution, list(map(str, all_executions(plan, state))))
            partials.append(_with_whose(rows, execution, expected.attempts.get(execution, 0)))
        segments = tuple(s for of in bronze.segments.values() for s in of)
        self._write(number, Batch(segments, bronze.unreadable, pa.concat_tables([_nothing(), *partials])))

    def make(self, spark: SparkSession) -> SoFar | None:
        """Tables, verdict and documents from all batches; None while there is no evidence."""
        plan, state = self.run.plan(), self.run.state()
        attempts = {name: e.attempt for name, e in state.executions.items()}

        def counts(execution: str, attempt: int) -> bool:
            return not (attempts.get(execution) and attempt) or attempts[execution] == attempt

        batches = [batch for _, batch in self._batches()]
        segments = [
            s for b in batches for s in b.segments if counts(s.execution, s.identity.attempt if s.identity else 0)
        ]
        unreadable = tuple(s for b in batches for s in b.unreadable if (self.run.path / s.path).exists())
        if not segments:
            return None
        of_table = {table.name: [s for s in segments if s.table == table.name] for table in READ}
        bronze = Bronze(of_table, unreadable, self.run.path)
        planned = list(map(str, all_executions(plan, state)))
        journal = read_journal(bronze, planned)
        make = Make({cell.cell: cell.consumers.groups for cell in plan.cells})
        partial_rows = pa.concat_tables([_nothing(), *(b.partial for b in batches)])
        whose = zip(*(partial_rows[name].to_pylist() for name in _WHOSE), strict=True)
        partial_rows = partial_rows.filter(pa.array([counts(*one) for one in whose], pa.bool_()))
        frame = spark.createDataFrame(partial_rows.drop_columns(list(_WHOSE)))
        found = by_table(made_of(frame, make).toArrow()) if len(partial_rows) else {}
        gold = assembled(bronze.without(journal.damaged), journal, found, [], partial(execution_facts, plan, state))
        verdict, tables = judged_tables(self.run, gold)
        self.tables.path.mkdir(exist_ok=True)
        for name in ("plan.json", "environment.json", "state.json"):
            shutil.copyfile(self.run.path / name, self.tables.path / name)
        write_tables(self.tables, tables)
        write_json(self.tables.verdict_file, verdict.model_dump(mode="json"))
        return SoFar(len(batches), len(segments), sum(s.rows for s in segments))

    def _file(self, number: int) -> Path:
        return self.folder / "batches" / f"{number:06d}.arrow"

    def _batches(self) -> Iterator[tuple[int, Batch]]:
        for path in sorted((self.folder / "batches").glob("[!.]*.arrow")):
            with pa.ipc.open_file(pa.memory_map(str(path))) as file:
                rows = file.read_all()
            said = json.loads(rows.schema.metadata[_KEY])
            segments = tuple(_segment(self.run.path, s) for s in said["segments"])
            unreadable = tuple(UnreadableSegment(**{**u, "path": Path(u["path"])}) for u in said["unreadable"])
            yield int(path.stem), Batch(segments, unreadable, rows.replace_schema_metadata(None))

    def _write(self, number: int, batch: Batch) -> None:
        said = {
            "segments": [
                {
                    "path": s.path.relative_to(self.run.path).as_posix(), "execution": s.execution, "table": s.table,
                    "rows": s.rows, "later": s.later, "identity": asdict(s.identity) if s.identity else None,
                }
                for s in batch.segments
            ],
            "unreadable": [{**asdict(u), "path": u.path.as_posix()} for u in batch.unreadable],
        }  # fmt: skip
        rows = batch.partial.replace_schema_metadata({_KEY: json.dumps(said).encode()})
        final = self._file(number)
        final.parent.mkdir(parents=True, exist_ok=True)
        temporary = final.with_name(f".{final.name}.tmp")
        with temporary.open("wb") as file:
            with pa.ipc.new_file(file, rows.schema) as writer:
                writer.write_table(rows)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(final)


def _scanned(spark: SparkSession, bronze: Bronze, execution: str, planned: list[str]) -> tuple[Bronze, pa.Table]:
    """Rows of PARTIAL of one execution's segments, and the evidence without files that turned out to be damaged."""
    tables = [table for table in READ if table is not EVENT]
    while True:
        mine = {name: [s for s in of if s.execution == execution] for name, of in bronze.segments.items()}
        files = file_parts(Bronze(mine, (), bronze.directory), tables)
        tasks = tasks_of(files, spark.sparkContext.defaultParallelism)
        scan = Scan(tasks or [[]], {t.name: rules(t, planned) for t in tables}, {execution: SPLIT})
        rows = scanned(spark, scan).toArrow()
        noted = [kind == "damaged" for kind in rows["kind"].to_pylist()]
        if not any(noted):
            return bronze, rows
        damaged = unpacked_rows([r.as_buffer() for r in rows.filter(pa.array(noted))["rows"]]).to_pylist()
        bronze = bronze.without({row["path"]: row["reason"] for row in damaged})


def _nothing() -> pa.Table:
    names = [pa.field("execution", pa.string()), pa.field("attempt", pa.int32())]
    columns = [pa.field(f.name, f.type) for f in arrow_schema(PARTIAL)]
    return pa.schema([*names, *columns]).empty_table()


def _with_whose(rows: pa.Table, execution: str, attempt: int) -> pa.Table:
    n, schema = len(rows), _nothing().schema
    whose = [pa.array([execution] * n, pa.string()), pa.array([attempt] * n, pa.int32())]
    return pa.table([*whose, *(rows[name] for name in schema.names[2:])], names=schema.names).cast(schema)


def _segment(run_directory: Path, said: dict[str, Any]) -> Segment:
    identity = Identity(**said["identity"]) if said["identity"] else None
    path = run_directory / said["path"]
    return Segment(path, said["execution"], said["table"], said["rows"], tuple(said["later"]), identity)
