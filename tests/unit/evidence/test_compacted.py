"""Small segments once more as one file: read in their place only while they are all there as they were."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from brokerlab.evidence.compacted import COMPACTED, SMALL_BYTES
from brokerlab.evidence.identity import Expected
from brokerlab.evidence.segments import Segment, segments
from brokerlab.evidence.tables import OUTCOME
from brokerlab.evidence.writer import SegmentWriter
from brokerlab.pipeline.bronze import Bronze
from brokerlab.pipeline.files import file_parts
from brokerlab.pipeline.scan import FilePart, read_parts

SEGMENTS = 6


def rows(number: int, n: int = 3) -> dict[str, Any]:
    return {
        "run": ["r"] * n, "cell": ["c01"] * n, "repeat": [1] * n, "agent": ["producer-1"] * n, "producer": [0] * n,
        "partition": [number] * n, "first": list(range(n)), "last": list(range(n)), "outcome": ["sent"] * n,
    }  # fmt: skip


def write(run: Path, *, attempt: int = 1, close: bool = True) -> list[Path]:
    writer = SegmentWriter(run / "evidence" / "c01-r1", "producer-1", OUTCOME, attempt)
    found = []
    for number in range(SEGMENTS):
        writer.add(rows(number))
        path = writer.flush()
        assert path is not None
        found.append(path)
    if close:
        writer.close()
    return found


def compacted(run: Path) -> list[Path]:
    return sorted(run.glob(f"evidence/*/{COMPACTED}/outcome/*.parquet"))


def found(run: Path, attempt: int = 0) -> tuple[list[Segment], list[FilePart]]:
    """Segments, and the files that the scan would read for them."""
    expected = Expected("r", {"c01-r1": attempt} if attempt else {})
    good, _ = segments(run, OUTCOME, expected, footers_only=True)
    return good, [part for part, _ in file_parts(Bronze({"outcome": good}, (), run), [OUTCOME])]


def partitions(parts: list[FilePart]) -> list[int]:
    return [p for chunk in read_parts(OUTCOME, parts, lambda *_: None) for p in chunk.rows["partition"].to_pylist()]


ALL_ROWS = [number for number in range(SEGMENTS) for _ in range(3)]


def test_one_file_is_read_in_place_of_many_and_says_of_each_row_which_segment_it_is_from(tmp_path: Path) -> None:
    paths = write(tmp_path)
    good, parts = found(tmp_path)
    assert [(s.path, s.rows) for s in good] == [(p, 3) for p in paths]
    assert [Path(p.path) for p in parts] == compacted(tmp_path)
    (chunk,) = read_parts(OUTCOME, parts, lambda *_: None)
    assert chunk.rows["partition"].to_pylist() == ALL_ROWS
    assert chunk.origin(7) == (str(paths[2]), 1)


def test_segments_are_the_same_files_with_and_without_it(tmp_path: Path) -> None:
    paths = write(tmp_path)
    (file,) = compacted(tmp_path)
    before = found(tmp_path)[0]
    file.unlink()
    after = found(tmp_path)[0]
    assert [(s.path, s.execution, s.rows, s.later, s.identity) for s in before] == [
        (s.path, s.execution, s.rows, s.later, s.identity) for s in after
    ]
    assert [s.path for s in after] == paths


def test_a_writer_that_was_killed_leaves_segments_that_are_read_one_by_one(tmp_path: Path) -> None:
    paths = write(tmp_path, close=False)
    assert [Path(p.path) for p in found(tmp_path)[1]] == paths


@pytest.mark.parametrize("change", ["deleted", "shorter", "written to"])
def test_segments_are_read_themselves_as_soon_as_one_of_them_is_not_as_it_was(tmp_path: Path, change: str) -> None:
    paths = write(tmp_path)
    if change == "deleted":
        paths[2].unlink()
    elif change == "shorter":
        paths[2].write_bytes(paths[2].read_bytes()[:-1])
    else:
        later_ns = compacted(tmp_path)[0].stat().st_mtime_ns + 1
        os.utime(paths[2], ns=(later_ns, later_ns))
    _, parts = found(tmp_path)
    assert not any(p.segments for p in parts)
    wanted = paths if change == "written to" else [p for p in paths if p != paths[2]]
    assert [Path(p.path) for p in parts] == wanted


def test_a_compacted_file_that_cannot_be_read_to_its_end_costs_time_and_no_rows(tmp_path: Path) -> None:
    write(tmp_path)
    _, parts = found(tmp_path)
    (file,) = compacted(tmp_path)
    damaged = bytearray(file.read_bytes())
    damaged[4:60] = bytes(56)
    file.write_bytes(bytes(damaged))
    assert partitions(parts) == ALL_ROWS


@pytest.mark.parametrize("content", [b"", b"PAR1 no Parquet PAR1"])
def test_a_file_that_is_no_compacted_one_is_passed_over(tmp_path: Path, content: bytes) -> None:
    paths = write(tmp_path)
    (file,) = compacted(tmp_path)
    file.write_bytes(content)
    assert [Path(p.path) for p in found(tmp_path)[1]] == paths


def test_a_copy_of_a_segment_is_refused_as_without_compaction(tmp_path: Path) -> None:
    paths = write(tmp_path)
    copy = paths[0].with_name("producer-1-000900.parquet")
    copy.write_bytes(paths[0].read_bytes())
    good, bad = segments(tmp_path, OUTCOME, footers_only=True)
    assert [s.path for s in good] == paths
    assert [b.reason for b in bad] == ["the same segment as evidence/c01-r1/outcome/producer-1-000001.parquet"]


def test_segments_of_another_attempt_are_refused_with_all_that_was_compacted(tmp_path: Path) -> None:
    write(tmp_path, attempt=1)
    assert found(tmp_path, attempt=2) == ([], [])


def test_large_segments_are_not_written_twice(tmp_path: Path) -> None:
    writer = SegmentWriter(tmp_path / "evidence" / "c01-r1", "producer-1", OUTCOME)
    noise = os.urandom(SMALL_BYTES).hex()
    for number in range(SEGMENTS):
        writer.add({**rows(number), "host": [noise] * 3})
        writer.flush()
    writer.close()
    assert compacted(tmp_path) == []


def test_rows_of_a_compacted_file_are_those_of_its_segments(tmp_path: Path) -> None:
    paths = write(tmp_path)
    (file,) = compacted(tmp_path)
    assert pq.read_table(file).to_pylist() == [row for p in paths for row in pq.read_table(p).to_pylist()]
