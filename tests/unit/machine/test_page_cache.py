"""Files that the kernel is made to forget: how much it held, and how much it holds afterwards."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from brokerlab.machine import page_cache
from brokerlab.machine.page_cache import drop, held_bytes, unwritten_bytes, write_back


def test_files_below_a_directory_are_forgotten_and_nothing_of_them_is_lost(tmp_path: Path) -> None:
    inner = tmp_path / "data" / "topic"
    inner.mkdir(parents=True)
    content = os.urandom(1 << 20)
    (inner / "log").write_bytes(content)
    (inner / "empty").touch()
    (tmp_path / "data" / "link").symlink_to(inner / "log")
    dropped = drop(tmp_path / "data")
    assert (dropped.files, dropped.bytes, dropped.held_before_bytes) == (2, 1 << 20, 1 << 20)
    if dropped.held_after_bytes == 1 << 20:
        pytest.skip("a file system that lives in memory: there is no disk to read from")
    assert dropped.held_after_bytes == 0
    assert (inner / "log").read_bytes() == content
    with (inner / "log").open("rb") as file:
        assert held_bytes(file.fileno(), 1 << 20) == 1 << 20
    assert "2 files of 1.0 MB; 1.0 MB were cached before, 0.0 MB after" in dropped.words()


def test_a_directory_that_is_not_there_has_no_files(tmp_path: Path) -> None:
    assert drop(tmp_path / "nothing").files == 0


def test_a_folder_that_a_server_deletes_meanwhile_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("deleted", "kept"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "log").write_bytes(b"x" * 4096)
    look = os.scandir

    def look_too_late(path: str | int) -> object:
        if not isinstance(path, int) and Path(path).name == "deleted":
            shutil.rmtree(path)  # which looks too, at an open folder
        return look(path)

    monkeypatch.setattr(os, "scandir", look_too_late)
    assert drop(tmp_path).files == 1


def test_what_was_written_is_on_the_disk_after_write_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_cache, "LITTLE_BYTES", 0)
    (tmp_path / "log").write_bytes(os.urandom(1 << 20))
    assert write_back(tmp_path, 120)
    with (tmp_path / "log").open("rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)  # forgets only what is on the disk
        held = held_bytes(file.fileno(), 1 << 20)
        if held == 1 << 20:
            pytest.skip("a file system that lives in memory: there is no disk to write to")
        assert held == 0


def test_little_that_is_not_written_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert unwritten_bytes() >= 0
    monkeypatch.setattr(page_cache, "LITTLE_BYTES", 1 << 50)
    monkeypatch.setattr(page_cache, "_libc", None)  # it is not asked
    assert write_back(tmp_path, 0.0)
