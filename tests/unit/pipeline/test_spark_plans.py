"""What moves between Spark's tasks: partial sums and ranges, never messages."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pytest
from benchmarks.known_evidence import Case, Truth, write_evidence
from pyspark.sql import SparkSession

from brokerlab.evidence.tables import EVENT
from brokerlab.pipeline.bronze import find_evidence
from brokerlab.pipeline.files import file_parts
from brokerlab.pipeline.scan import LANES, MESSAGES, RECOUNT, Scan, tasks_of
from brokerlab.pipeline.silence import After
from brokerlab.pipeline.silver import rules
from brokerlab.pipeline.work import Make, made


def scan_of(run: Path, tasks: int = 2) -> Scan:
    bronze = find_evidence(run, messages=True)
    tables = [t for t in bronze.tables() if t is not EVENT]
    after = {("c01", 1): [After(1, 5_005_000_000_000, 5_010_000_000_000)]}
    parts = tasks_of(file_parts(bronze, tables), tasks)
    return Scan(parts, {t.name: rules(t, ["c01-r1"]) for t in tables}, {}, after)


def moved(run: Path, part: str) -> tuple[int, int]:
    """(rows, bytes) that the scan of a run passes on of one part. Message rows are read in one task: how many of several get
    some of them depends on the weight of the files."""
    scan = scan_of(run, tasks=2 if part == LANES else 1)
    tasks = pa.RecordBatch.from_pydict({"id": list(range(len(scan.tasks)))})
    rows = pa.Table.from_batches(list(scan(iter([tasks]))))
    mine = rows.filter(pa.array([p == part for p in rows["part"].to_pylist()]))
    return len(mine), sum(len(r.as_py()) for r in mine["rows"])


def evidence(directory: Path, messages: int, **changes: object) -> Truth:
    few = {"lanes": 4, "agents": 1, "seconds": 10, "slices": 2, "run_length": messages / 40, "planted": 0}
    return write_evidence(directory, Case("plan", messages, **{**few, **changes}))  # type: ignore[arg-type]


def test_one_exchange_and_it_is_of_what_the_scan_passes_on(spark: SparkSession, tmp_path: Path) -> None:
    evidence(tmp_path / "run", 4000, message_rows=True)
    frame = made(spark, scan_of(tmp_path / "run"), Make({}))
    plan = frame._jdf.queryExecution().executedPlan().toString()  # type: ignore[operator]
    steps = re.findall(
        r"\b(FlatMapGroupsInArrow|Exchange|MapInArrow|Range|FileScan|Scan \w+|\w*Join|BroadcastExchange)\b", plan
    )
    assert steps == ["FlatMapGroupsInArrow", "Exchange", "MapInArrow", "Range"], plan
    exchanged = re.search(r"Exchange hashpartitioning\(([^)]*)\)", plan)
    assert exchanged is not None
    assert [re.sub(r"#\d+", "", name).strip() for name in exchanged[1].split(",")][:4] == [
        "cell",
        "repeat",
        "part",
        "slot",
    ]


@pytest.mark.parametrize(
    ("part", "message_rows"),
    [(LANES, False), (LANES, True), (MESSAGES, True), (RECOUNT, True)],
    ids=["ranges", "ranges beside message rows", "silences of message rows", "message rows counted again"],
)
def test_ten_times_the_messages_in_as_many_ranges_move_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str, message_rows: bool
) -> None:
    # At most so many silences of a lane are passed on. As many as in real use would need millions of messages here.
    monkeypatch.setattr("brokerlab.pipeline.silence.SHARE", 64)
    sizes = []
    for messages in (4000, 40_000):
        written = evidence(tmp_path / str(messages), messages, message_rows=message_rows)
        assert (written.sent, written.message_rows) == (messages, 2 * messages if message_rows else 0)
        sizes.append(moved(tmp_path / str(messages), part))
    (few, small), (many, large) = sizes
    assert few == many > 0
    assert large < 2 * small, "what moves follows ranges, silences and blocks of numbers, not the messages"
