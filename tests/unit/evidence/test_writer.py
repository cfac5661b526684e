from __future__ import annotations

import platform
from pathlib import Path

import pyarrow.parquet as pq

from brokerlab import __version__
from brokerlab.evidence.tables import OUTCOME
from brokerlab.evidence.writer import SegmentWriter
from brokerlab.model.arrow import written_by

ROWS = {
    "run": ["r", "r"], "cell": ["c01", "c01"], "repeat": [1, 1], "agent": ["producer-1", "producer-1"],
    "producer": [0, 0], "partition": [0, 1], "first": [0, 0], "last": [9, 9], "outcome": ["sent", "sent"],
}  # fmt: skip


def test_every_row_names_the_host_and_every_file_the_version_that_wrote_it(tmp_path: Path) -> None:
    writer = SegmentWriter(tmp_path, "producer-1", OUTCOME)
    writer.add(ROWS)
    path = writer.flush()
    assert path is not None
    table = pq.read_table(path)
    assert table["host"].to_pylist() == [platform.node()] * 2
    assert written_by(table.schema) == __version__


def test_a_host_that_is_given_is_kept(tmp_path: Path) -> None:
    writer = SegmentWriter(tmp_path, "producer-1", OUTCOME)
    writer.add({**ROWS, "host": ["elsewhere", "elsewhere"]})
    path = writer.flush()
    assert path is not None
    assert pq.read_table(path)["host"].to_pylist() == ["elsewhere"] * 2


def test_nothing_added_writes_nothing(tmp_path: Path) -> None:
    assert SegmentWriter(tmp_path, "producer-1", OUTCOME).flush() is None
