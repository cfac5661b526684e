"""A segment counts once, whatever its file is called and wherever it was copied from."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from brokerlab.evidence.identity import SEGMENT_KEY, Expected, Identity
from brokerlab.evidence.segments import segments
from brokerlab.evidence.tables import SEQUENCE
from brokerlab.evidence.writer import SegmentWriter
from synthetic import make_plan, write_run


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_run(tmp_path / "run", plan=make_plan("run", cells=1, measure_s=2.0), faults={}).directory.path


def one_segment(run: Path, execution: str = "c01-r1") -> Path:
    return sorted(run.glob(f"evidence/{execution}/sequence/*.parquet"))[0]


def nameless(path: Path) -> None:
    """As 0.1.0 wrote it: the footer does not say which segment it is."""
    table = pq.read_table(path)
    pq.write_table(table.replace_schema_metadata({k: v for k, v in table.schema.metadata.items() if k != SEGMENT_KEY}), path)  # fmt: skip


def test_every_segment_says_which_one_it_is(run: Path) -> None:
    readable, _ = segments(run, SEQUENCE)
    assert readable
    for segment in readable:
        assert segment.identity is not None
        assert (segment.identity.run, segment.identity.execution) == ("run", segment.execution)
        assert segment.identity.file_name == segment.path.name
    assert len({s.identity for s in readable}) == len(readable)


@pytest.mark.parametrize("name", ["aaa.parquet", "zzz.parquet"])
@pytest.mark.parametrize("with_identity", [True, False])
def test_of_a_segment_that_is_there_twice_one_counts(run: Path, name: str, with_identity: bool) -> None:
    original = one_segment(run)
    if not with_identity:
        for path in run.glob("evidence/*/sequence/*.parquet"):
            nameless(path)
    before, _ = segments(run, SEQUENCE)
    shutil.copy(original, original.with_name(name))
    readable, (second,) = segments(run, SEQUENCE)
    assert sum(s.rows for s in readable) == sum(s.rows for s in before)
    assert "the same segment as evidence/c01-r1/sequence/" in second.reason
    assert not second.belongs
    if with_identity:  # then the original is known by its name
        assert run / second.path == original.with_name(name)


def test_a_segment_in_the_evidence_of_another_execution_does_not_count_there(run: Path) -> None:
    copied = run / "evidence" / "c01-r2" / "sequence" / "consumer-g1-1-000077.parquet"
    shutil.move(one_segment(run), copied)
    readable, (bad,) = segments(run, SEQUENCE)
    assert (run / bad.path, bad.reason) == (copied, "belongs to c01-r1")
    assert copied not in [s.path for s in readable]


def test_a_file_with_the_identity_of_another_but_other_bytes_is_a_missing_piece(run: Path) -> None:
    original = one_segment(run)
    table = pq.read_table(original)
    other = original.with_name("edited.parquet")
    pq.write_table(table.slice(0, 1), other)
    _, (bad,) = segments(run, SEQUENCE)
    assert run / bad.path == other
    assert "another segment with the identity of" in bad.reason
    assert bad.belongs


def test_segments_of_other_runs_and_attempts_do_not_count(run: Path) -> None:
    _, unreadable = segments(run, SEQUENCE, Expected("another"))
    assert {bad.reason for bad in unreadable} == {"belongs to the run run"}
    readable, unreadable = segments(run, SEQUENCE, Expected("run", {"c01-r1": 2, "c01-r2": 1}))
    assert {s.execution for s in readable} == {"c01-r2"}
    assert all("belongs to attempt 1, which was cut off" in bad.reason for bad in unreadable)
    assert segments(run, SEQUENCE, Expected("run"))[1] == []


def test_a_footer_that_names_no_known_identity_is_read_as_none(run: Path) -> None:
    schema = pq.read_schema(one_segment(run))
    assert Identity.of(schema.with_metadata({SEGMENT_KEY: b"{}"})) is None
    assert Identity.of(schema.with_metadata({SEGMENT_KEY: b"not json"})) is None


def test_a_writer_goes_on_after_the_highest_number_although_one_is_gone(tmp_path: Path) -> None:
    row = {"run": ["run"], "cell": ["c01"], "repeat": [1], "agent": ["a"], "group": ["g"], "consumer": [0],
           "epoch": [0], "producer": [0], "partition": [0], "first": [0], "last": [1], "first_mono_ns": [1],
           "last_mono_ns": [1], "ordinal": [1], "redelivered": [0], "first_position": [-1], "last_position": [-1]}  # fmt: skip
    for _ in range(3):
        writer = SegmentWriter(tmp_path, "a", SEQUENCE, attempt=4)
        writer.add(row)
        last = writer.flush()
    assert last is not None
    identity = Identity.of(pq.read_schema(last))
    assert identity == Identity("run", "c01-r1", 4, "a", 3)
    (tmp_path / "sequence" / "a-000001.parquet").unlink()
    writer = SegmentWriter(tmp_path, "a", SEQUENCE)
    writer.add(row)
    assert writer.flush() == tmp_path / "sequence" / "a-000004.parquet"
