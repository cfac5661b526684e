"""Files as tasks read them: damage behind an intact footer, row groups apart, and how files are dealt to tasks."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from brokerlab.evidence.segments import segments
from brokerlab.evidence.tables import ACTIVITY, READING, SEQUENCE
from brokerlab.model.arrow import WRITER_KEY, arrow_schema
from brokerlab.pipeline import files
from brokerlab.pipeline.analyze import analyze
from brokerlab.pipeline.bronze import find_evidence
from brokerlab.pipeline.execution_tables import EXECUTION_TABLES, STRANGE, execution_tables
from brokerlab.pipeline.files import file_parts
from brokerlab.pipeline.scan import FilePart, read_parts, tasks_of
from brokerlab.results.reader import read_rows
from brokerlab.results.tables import DELIVERY, UNREADABLE_SEGMENT
from synthetic import make_plan, write_run

ONE = {"cells": 1, "repeats": 1, "rate_per_s": 100.0, "warm_up_s": 1.0, "measure_s": 6.0}


def run_of(directory: Path) -> Path:
    return write_run(directory, plan=make_plan("run", **ONE), faults={}).directory.path  # type: ignore[arg-type]


def in_row_groups(path: Path, rows: int) -> None:
    table = pq.read_table(path)
    pq.write_table(table, path, row_group_size=rows, compression="zstd")


def damage(path: Path, row_group: int) -> None:
    """Spoil the data of one row group; the footer stays as it is."""
    column = pq.read_metadata(path).row_group(row_group).column(0)
    begin = column.dictionary_page_offset or column.data_page_offset
    spoilt = bytearray(path.read_bytes())
    spoilt[begin : begin + column.total_compressed_size] = bytes(column.total_compressed_size)
    path.write_bytes(bytes(spoilt))


def test_a_file_damaged_behind_its_footer_is_told_and_the_others_are_read(tmp_path: Path) -> None:
    paths = sorted(run_of(tmp_path / "run").glob("evidence/c01-r1/sequence/*.parquet"))
    damage(paths[0], 0)
    readable, _ = segments(tmp_path / "run", SEQUENCE, footers_only=True)
    assert [s.path for s in readable] == paths, "its footer is intact"
    damaged: dict[str, str] = {}
    parts = [FilePart(str(path), "c01-r1", "sequence") for path in paths]
    (chunk,) = read_parts(SEQUENCE, parts, damaged.__setitem__)
    assert list(damaged) == [str(paths[0])]
    assert [path for path, _, _ in chunk.origins] == [str(path) for path in paths[1:]]


def test_row_groups_of_a_large_file_are_read_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = sorted(run_of(tmp_path / "run").glob("probes/c01-r1/reading/*.parquet"))[0]
    in_row_groups(path, 7)
    whole = pq.read_table(path)
    monkeypatch.setattr(files, "PART_BYTES", 1)
    bronze = find_evidence(tmp_path / "run")
    (table,) = [t for t in bronze.tables() if t.name == "reading"]
    parts = [part for part, _ in file_parts(bronze, [table]) if part.path == str(path)]
    assert [part.row_groups for part in parts] == [(i, i + 1) for i in range(-(-len(whole) // 7))]
    places = []
    for part in parts:
        (chunk,) = read_parts(table, [part], lambda *_: None)
        places += [chunk.origin(row) for row in range(len(chunk.rows))]
    assert places == [(str(path), row) for row in range(len(whole))]


@pytest.mark.usefixtures("spark")
def test_a_damaged_part_leaves_out_its_whole_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = write_run(tmp_path / "run", plan=make_plan("run", **ONE), faults={}).directory  # type: ignore[arg-type]
    victim = sorted(run.path.glob("evidence/c01-r1/outcome/*.parquet"))[0]
    in_row_groups(victim, 2)
    rows = pq.read_metadata(victim).num_rows
    assert rows > 2
    damage(victim, 1)
    monkeypatch.setattr(files, "PART_BYTES", 1)
    verdict = analyze(run.path)
    (bad,) = read_rows(run, UNREADABLE_SEGMENT)
    assert run.path / bad["file"] == victim
    (row,) = read_rows(run, DELIVERY)
    assert row["drained"] is False
    assert verdict.verdict == "cannot tell"


def test_tasks_get_like_shares_and_every_file_once() -> None:
    weights = [5, 1, 1, 1, 9, 2, 2, 3, 4, 4]
    parts = [(FilePart(f"f{i}", "c01-r1", "sequence"), weight) for i, weight in enumerate(weights)]
    tasks = tasks_of(parts, 3)
    assert sorted(part.path for task in tasks for part in task) == [f"f{i}" for i in range(10)]
    assert 1 < len(tasks) <= 3
    of_path = {part.path: weight for part, weight in parts}
    assert max(sum(of_path[part.path] for part in task) for task in tasks) <= sum(weights) / 3 + max(weights)
    assert tasks_of([], 3) == []


@pytest.mark.parametrize("missing", ["reading", "activity", "per_second", "delays", "due"])
def test_tables_of_an_execution_that_left_no_evidence_of_one_kind(missing: str) -> None:
    tables = execution_tables(reduced(missing))
    assert set(tables) == {table.name for table, _ in EXECUTION_TABLES} | {STRANGE}
    assert len(tables["reading_per_second"]) == (0 if missing == "reading" else 1)
    assert len(tables["rate_per_second"]) == (0 if missing == "activity" else 1)


def reduced(missing: str) -> dict[str, pa.Table]:
    """What the scan passes on of one second of one agent, without one kind of rows."""
    where = {"cell": "c01", "repeat": 1, "second_unix_s": 9, "role": "producer", "group": "", "phase": "measure"}
    counts = {c.name: 1 for c in ACTIVITY.columns if c.type == "long" and c.name != "second_unix_s"}
    reading = {"subject": "host", "metric": "cpu_busy_cores", "unit": "cores", "at_mono_ns": 1, "value": 1.0}
    rows = {"activity": where | {"agent": "a"} | counts, "reading": where | reading}
    schemas = {t.name: pa.schema([(f.name, f.type) for f in arrow_schema(t)]) for t in (ACTIVITY, READING)}
    return {kind: pa.Table.from_pylist([row], schemas[kind]) for kind, row in rows.items() if kind != missing}


def test_a_large_file_of_an_older_version_is_read_with_defaults(tmp_path: Path) -> None:
    path = sorted(run_of(tmp_path / "run").glob("evidence/c01-r1/sequence/*.parquet"))[0]
    table = pq.read_table(path)
    later = [c.name for c in SEQUENCE.columns if c.since != "0.1.0"]
    metadata = {k: v for k, v in table.schema.metadata.items() if k != WRITER_KEY}
    pq.write_table(table.drop_columns(later).replace_schema_metadata(metadata), path)
    groups = (0, pq.read_metadata(path).num_row_groups)  # read as a large file is: with dictionaries
    (chunk,) = read_parts(SEQUENCE, [FilePart(str(path), "c01-r1", "sequence", groups)], lambda *_: None)
    assert chunk.rows.column_names == list(SEQUENCE.names())
    assert {name: set(chunk.rows[name].to_pylist()) for name in later} == {"host": {""}}
    assert chunk.rows["first"].to_pylist() == table["first"].to_pylist()
