"""What disk and loopback can do: measured in bounded time, kept for one boot and one disk, never by a busy machine."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from brokerlab.doctor import ceilings as module
from brokerlab.model.environment import Ceilings

KNOWN = Ceilings(
    measured_unix_s=1.0, directory="/d", disk_write_bytes_per_s=1e8, fsync_p50_ns=1, fsync_p99_ns=2,
    loopback_bytes_per_s=1e9, other_cores=0.1,
)  # fmt: skip


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BROKERLAB_HOME", str(tmp_path / "home"))


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[Ceilings]:
    """What measuring gives, one after the other."""
    waiting: list[Ceilings] = []
    monkeypatch.setattr(module, "measured", lambda _directory: waiting.pop(0))
    return waiting


def test_they_are_measured_and_nothing_is_left_on_the_disk(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    runs.mkdir()
    found = module.measured(runs)
    assert found.disk_write_bytes_per_s > 0
    assert 0 < found.fsync_p50_ns <= found.fsync_p99_ns
    assert found.loopback_bytes_per_s > 1e6
    assert abs(found.measured_unix_s - time.time()) < 60
    assert not list(runs.iterdir())


def test_a_boot_measures_a_disk_once(tmp_path: Path, measured: list[Ceilings], monkeypatch: pytest.MonkeyPatch) -> None:
    measured += [KNOWN, KNOWN.model_copy(update={"fsync_p99_ns": 3})]
    assert module.ceilings(tmp_path) == module.ceilings(tmp_path) == KNOWN
    assert len(measured) == 1
    monkeypatch.setattr(module, "_boot", lambda: "another")
    assert module.ceilings(tmp_path).fsync_p99_ns == 3


def test_another_disk_is_measured_by_itself(tmp_path: Path, measured: list[Ceilings]) -> None:
    other = Path("/dev/shm")
    if not other.is_dir() or other.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("there is only one file system here")
    measured += [KNOWN, KNOWN.model_copy(update={"directory": str(other)})]
    assert module.ceilings(tmp_path).directory == "/d"
    assert module.ceilings(other).directory == str(other)


@pytest.mark.parametrize("text", ["", "{", '{"boot": 1}'])
def test_a_damaged_file_is_measured_again(text: str, tmp_path: Path, measured: list[Ceilings]) -> None:
    measured += [KNOWN, KNOWN]
    module.ceilings(tmp_path)
    (file,) = (tmp_path / "home").iterdir()
    file.write_text(text)
    assert module.ceilings(tmp_path) == KNOWN
    assert measured == []


def test_what_a_busy_machine_gives_is_used_once(tmp_path: Path, measured: list[Ceilings]) -> None:
    measured += [KNOWN.model_copy(update={"other_cores": 1.5}), KNOWN]
    assert module.ceilings(tmp_path).other_cores == 1.5
    assert module.ceilings(tmp_path) == KNOWN


def test_a_disk_that_stalls_is_not_waited_for_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced = []
    monkeypatch.setattr(os, "fsync", lambda number: synced.append(number) or time.sleep(0.05))
    assert module.disk_write_bytes_per_s(tmp_path, 0.01) < module.DISK_BLOCK_BYTES / 0.05
    assert len(synced) == 1
