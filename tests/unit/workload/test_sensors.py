"""The generated sensor file: shape, size, determinism."""

from __future__ import annotations

import itertools
from datetime import datetime

import pytest

from brokerlab.errors import MachineError
from brokerlab.workload import sensors
from brokerlab.workload.sensors import write_sensor_file


def test_every_line_has_66_columns_and_about_220_bytes(tmp_path):
    path = tmp_path / "sensors.tsv"
    written = write_sensor_file(path, 3000, seed=1)
    text = path.read_bytes()
    assert written == len(text)
    assert text.endswith(b"\n")
    rows = [line.split(b"\t") for line in text.splitlines()]
    assert len(rows) == 3000
    assert {len(row) for row in rows} == {66}
    assert 205 < len(text) / 3000 < 235
    assert all(cell.isdigit() for row in rows for cell in row[1:])
    states = [row[16:] for row in rows]
    assert {cell for row in states for cell in row} == {b"0", b"1"}
    changes = sum(a != b for before, after in itertools.pairwise(states) for a, b in zip(before, after, strict=True))
    assert 0 < changes < 0.01 * 3000 * 50


def test_time_goes_on_by_ten_milliseconds_and_the_index_by_one(tmp_path, monkeypatch):
    monkeypatch.setattr(sensors, "LINES_AT_ONCE", 7)
    path = tmp_path / "sensors.tsv"
    write_sensor_file(path, 20, seed=1)
    rows = [line.split("\t") for line in path.read_text().splitlines()]
    times = [datetime.strptime(row[0][:26], "%Y-%m-%dT%H:%M:%S.%f") for row in rows]
    assert {(b - a).total_seconds() for a, b in itertools.pairwise(times)} == {0.01}
    assert [int(row[1]) for row in rows] == list(range(2_556_001, 2_556_021))


def test_the_same_seed_gives_the_same_file_and_another_seed_another(tmp_path):
    made = []
    for i, seed in enumerate((5, 5, 6)):
        write_sensor_file(tmp_path / f"{i}.tsv", 100, seed)
        made.append((tmp_path / f"{i}.tsv").read_bytes())
    assert made[0] == made[1] != made[2]


def test_a_place_that_cannot_be_written_is_a_machine_error(tmp_path):
    with pytest.raises(MachineError, match="cannot write"):
        write_sensor_file(tmp_path / "missing" / "sensors.tsv", 10, seed=1)
