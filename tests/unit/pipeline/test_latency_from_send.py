"""Latencies from send in the pipeline: absent from evidence of 0.1.0, negatives with the measure they belong to."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from brokerlab.evidence.tables import INTERVAL
from brokerlab.model.arrow import WRITER_KEY, arrow_schema
from brokerlab.model.metrics import FROM_SCHEDULE, MEASURES
from brokerlab.pipeline.latency import samples
from brokerlab.pipeline.rules import judged
from brokerlab.pipeline.scan import FilePart, read_parts
from brokerlab.pipeline.silver import rules
from synthetic import make_plan, write_run

EXECUTIONS = ["c01-r1"]


@pytest.fixture
def intervals(tmp_path: Path) -> list[Path]:
    run = write_run(tmp_path / "run", plan=make_plan("run", cells=1, repeats=1))
    return sorted(run.directory.path.glob("evidence/*/interval/*.parquet"))


def as_0_1_0(path: Path) -> None:
    """What the first version wrote: fewer columns, and not its own name."""
    table = pq.read_table(path).select([c.name for c in INTERVAL.columns if c.since == "0.1.0"])
    metadata = {k: v for k, v in table.schema.metadata.items() if k != WRITER_KEY}
    pq.write_table(table.replace_schema_metadata(metadata), path)


def test_evidence_of_0_1_0_is_read_with_empty_histograms(intervals: list[Path]) -> None:
    for path in intervals:
        as_0_1_0(path)
    damaged: dict[str, str] = {}
    parts = [FilePart(str(path), EXECUTIONS[0], INTERVAL.name) for path in intervals]
    (chunk,) = read_parts(INTERVAL, parts, damaged.__setitem__)
    good, bad = judged(chunk.rows, rules(INTERVAL, EXECUTIONS))
    assert (bad, damaged) == ({}, {})
    assert len(good) == sum(pq.read_metadata(path).num_rows for path in intervals)
    assert set(samples(good)["measure"].to_pylist()) == set(FROM_SCHEDULE)


def test_negatives_count_with_the_latency_they_were_taken_of(intervals: list[Path]) -> None:
    rows = [row for path in intervals for row in pq.read_table(path).to_pylist()]
    one_of_each = list({row["role"]: row | {"negative": 3, "negative_from_send": 5} for row in rows}.values())
    assert {row["role"] for row in one_of_each} == {"producer", "consumer"}
    found = samples(pa.Table.from_pylist(one_of_each, arrow_schema(INTERVAL))).to_pylist()
    expected = {
        "publish_latency": 3,
        "end_to_end_latency": 3,
        "publish_latency_from_send": 5,
        "end_to_end_latency_from_send": 5,
        "send_delay": 0,
    }
    assert {r["measure"]: r["negative"] for r in found} == expected
    assert set(expected) == set(MEASURES)
