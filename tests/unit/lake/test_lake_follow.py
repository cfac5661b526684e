"""A run that goes on, kept current in the lake: whatever comes in whatever order, the end is what the analysis says."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from brokerlab.lake.follow import follow
from brokerlab.lake.ingest import add
from brokerlab.lake.manifest import init
from brokerlab.lake.reading import Lake
from brokerlab.lake.store import LocalStore
from brokerlab.lake.survey import FOLLOWED
from brokerlab.pipeline.analyze import analyze
from brokerlab.pipeline.so_far import FOLDER
from brokerlab.results.directory import RunDirectory
from brokerlab.results.reader import read_rows
from brokerlab.results.run_state import LOCK_FILE
from brokerlab.results.tables import RESULT_TABLES
from synthetic import Faults, make_plan, write_run

NAME = "20261117T130000Z-followed-dddddd"
PATIENCE_S = 300.0


class Going:
    """A run whose segments close bit by bit, and a lake."""

    def __init__(self, root: Path, spark: SparkSession) -> None:
        plan = make_plan(NAME, cells=1, repeats=2, rate_per_s=100.0, warm_up_s=1.0, measure_s=5.0)
        faults = {("c01", 1): Faults(lost=3), ("c01", 2): Faults(duplicated=2)}
        self.run = write_run(root / "runs" / NAME, plan=plan, faults=faults).directory
        self.store = LocalStore(root / "lake")
        self._spark = spark
        init(self.store)
        self._to_come: list[tuple[Path, bytes]] = []
        for path in sorted(p for r in ("evidence", "probes", "events") for p in (self.run.path / r).rglob("*.parquet")):
            self._to_come.append((path, path.read_bytes()))
            path.unlink()

    def close_segments(self, share: float) -> None:
        """So much of what is to come; the first in the alphabet comes last, whatever its seconds are."""
        for _ in range(round(len(self._to_come) * share)):
            path, content = self._to_come.pop()
            path.with_name(f".{path.name}.tmp").write_bytes(content)
            path.with_name(f".{path.name}.tmp").replace(path)

    def follow(self) -> None:
        follow(self.run, self.store, self._spark, once=True)

    def received(self) -> int:
        return sum(row["received"] for row in Lake(self.store).table("delivery").to_pylist())

    def differing_tables(self) -> list[str]:
        """Tables in which the lake says otherwise than the analysis of the run."""
        analyze(self.run.path)
        lake = Lake(self.store)
        found = []
        for name, table in RESULT_TABLES.items():
            there = (
                lake.table(name).select(list(table.names())).to_pylist() if name in dict(lake.places()).values() else []
            )
            if sorted(map(repr, there)) != sorted(map(repr, read_rows(self.run, table))):
                found.append(name)
        return found


@pytest.fixture
def going(tmp_path: Path, spark: SparkSession) -> Going:
    return Going(tmp_path, spark)


def test_after_the_last_segment_every_table_is_that_of_the_analysis(going: Going) -> None:
    received = []
    for share in (0.3, 0.5, 1.0):
        going.close_segments(share)
        going.follow()
        received.append(going.received())
    assert 0 < received[0] < received[1] <= received[2], "each batch adds what it brings"
    assert going.differing_tables() == []


def test_it_keeps_the_lake_current_while_the_run_is_in_progress_and_ends_with_it(
    going: Going, spark: SparkSession
) -> None:
    with ThreadPoolExecutor(1) as pool, (going.run.path / LOCK_FILE).open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # as a runner does
        following = pool.submit(follow, going.run, going.store, spark, every_s=1.0)
        going.close_segments(0.5)
        deadline = time.monotonic() + PATIENCE_S
        while not Lake(going.store).runs() and not following.done():
            assert time.monotonic() < deadline
            time.sleep(0.1)
        assert not following.done(), following.exception()
        going.close_segments(1.0)
        fcntl.flock(lock, fcntl.LOCK_UN)
        following.result(PATIENCE_S)
    assert going.differing_tables() == []


def test_a_batch_that_is_repeated_after_a_crash_counts_once(going: Going) -> None:
    going.close_segments(0.5)
    going.follow()
    before = going.received()
    commits = going.run.path / FOLDER / "checkpoint" / "commits"
    for path in (p for p in commits.iterdir() if p.name.strip(".").partition(".")[0] == "0"):
        path.unlink()  # as if the process had been killed after it had done everything but say so
    going.follow()
    assert going.received() == before
    going.close_segments(1.0)
    going.follow()
    assert going.differing_tables() == []


def test_killed_with_sigkill_it_goes_on_where_it_was(going: Going) -> None:
    going.close_segments(1.0)
    command = [sys.executable, "-c", "from brokerlab.cli.main import main; main()", "lake", "follow", str(going.run.path),
               "--once", "--lake", str(going.store.root)]  # fmt: skip
    first = going.run.path / FOLDER / "batches" / "000000.arrow"
    with subprocess.Popen(command, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as running:
        deadline = time.monotonic() + PATIENCE_S
        while not first.exists() and running.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        os.killpg(running.pid, signal.SIGKILL)
        said = running.communicate()[0].decode()
    assert first.exists(), said
    going.follow()
    assert going.differing_tables() == []


def test_a_copy_of_a_segment_that_comes_later_is_named_and_not_counted(going: Going) -> None:
    going.close_segments(1.0)
    going.follow()
    before = going.received()
    segment = min((going.run.path / "evidence").glob("c01-r1/sequence/*.parquet"))
    segment.with_name("zz-copy-000001.parquet").write_bytes(segment.read_bytes())
    going.follow()
    assert going.received() == before
    (bad,) = Lake(going.store).table("unreadable_segment").to_pylist()
    assert bad["reason"].startswith("the same segment as ")


def test_a_run_that_was_added_by_its_end_is_left_as_it_is(going: Going, spark: SparkSession) -> None:
    from contextlib import nullcontext

    going.close_segments(1.0)
    going.follow()
    assert Lake(going.store).manifest.runs[NAME].inputs.startswith(FOLLOWED)
    analyze(going.run.path)
    assert add(going.store, [going.run.path], lambda: nullcontext(spark)).changed == (NAME,)
    final = Lake(going.store).manifest.runs[NAME]
    assert final.source == str(going.run.path.resolve())
    going.follow()
    assert Lake(going.store).manifest.runs[NAME] == final


def test_a_run_without_a_segment_is_no_error(going: Going) -> None:
    going.follow()
    assert not Lake(going.store).runs()
    assert RunDirectory(going.run.path).verdict() is None
