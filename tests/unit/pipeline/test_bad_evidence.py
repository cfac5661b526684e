"""Evidence that was copied, cut or put in the wrong place: what the verdict says of it, and in which order."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from brokerlab.evidence.segments import segments
from brokerlab.evidence.tables import SEQUENCE
from brokerlab.model.arrow import arrow_schema
from brokerlab.pipeline.analyze import analyze, write_tables
from brokerlab.results.reader import read_rows
from brokerlab.results.tables import DELIVERY, FAULT, UNREADABLE_SEGMENT
from synthetic import make_plan, write_run

pytestmark = pytest.mark.usefixtures("spark")

ONE = {"cells": 1, "repeats": 1, "rate_per_s": 100.0, "warm_up_s": 1.0, "measure_s": 6.0}


def test_a_segment_that_is_there_twice_is_counted_once(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", plan=make_plan("run", **ONE), faults={}).directory
    for original in sorted(run.path.glob("evidence/c01-r1/*/*.parquet")):
        shutil.copy(original, original.with_name(f"copy-of-{original.name}"))
    copies = len(list(run.path.glob("evidence/*/*/copy-of-*")))
    verdict = analyze(run.path)
    (row,) = read_rows(run, DELIVERY)
    assert (row["sent"], row["received"], row["duplicated"], row["lost"]) == (1400, 1400, 0, 0)
    assert row["drained"] is True
    found = read_rows(run, UNREADABLE_SEGMENT)
    assert len(found) == copies > 0
    assert all(Path(r["file"]).name.startswith("copy-of-") and "the same segment as" in r["reason"] for r in found)
    assert [r.weight for r in verdict.reasons if r.code == "segment_left_out"] == ["note"] * copies
    assert verdict.verdict == "valid"


def test_a_segment_that_cannot_be_read_stands_before_what_follows_from_it(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", plan=make_plan("run", **ONE), faults={}).directory
    for victim in run.path.glob("evidence/c01-r1/interval/producer-*.parquet"):
        victim.write_bytes(victim.read_bytes()[:50])
    verdict = analyze(run.path)
    codes = [r.code for r in verdict.reasons]
    assert codes[0] == "segment_unreadable"
    assert "load_not_scheduled" in codes[1:], "without intervals nothing seems to have been scheduled"
    assert verdict.verdict == "cannot tell"
    assert "a segment could not be read: evidence/c01-r1/interval/producer-1-000001.parquet" in verdict.headline
    assert "scheduled 0" not in verdict.headline
    (cell,) = verdict.cells
    assert cell.set_aside == ()


def test_a_run_of_which_nothing_can_be_read_says_which_files(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", plan=make_plan("run", **ONE), faults={}).directory
    for victim in run.path.rglob("*.parquet"):
        victim.write_bytes(b"PAR1")
    verdict = analyze(run.path)
    assert verdict.verdict == "cannot tell"
    assert "a segment could not be read: evidence/c01-r1/" in verdict.headline
    assert verdict.reasons[-1].code != "segment_unreadable"


def test_what_a_killed_analysis_left_in_the_run_is_deleted_by_the_next(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", plan=make_plan("run", **ONE), faults={}).directory
    gone = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, text=True, check=True
    )
    left = [run.path / f".tables-{word}-{gone.stdout.strip()}" for word in ("new", "old")]
    at_work = run.path / f".tables-new-{os.getppid()}"
    for path in (*left, at_work):
        path.mkdir()
    write_tables(run, {FAULT.name: arrow_schema(FAULT).empty_table()})
    assert not any(path.exists() for path in left)
    assert at_work.is_dir(), "another analysis may be at work"


def test_a_foreign_parquet_file_is_named_and_read_no_further(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", plan=make_plan("run", **ONE), faults={}).directory
    foreign = run.path / "evidence" / "c01-r1" / "sequence" / "export.parquet"
    pq.write_table(pa.table({"a": [1, 2]}), foreign)
    found, (bad,) = segments(run.path, SEQUENCE)
    assert (run.path / bad.path, bad.reason) == (foreign, "schema version None, this brokerlab reads 1")
    assert foreign not in [s.path for s in found]
