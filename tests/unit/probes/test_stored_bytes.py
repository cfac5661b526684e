from __future__ import annotations

import os
from pathlib import Path

from brokerlab.probes.storage import StoredBytes, stored_bytes


def test_every_file_below_counts_once_with_what_is_really_in_it(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "one").write_bytes(b"x" * 10_000)
    (tmp_path / "a" / "b" / "two").write_bytes(b"y" * 5_000)
    for path in (tmp_path / "one", tmp_path / "a" / "b" / "two"):
        with path.open("rb") as f:
            os.fsync(f.fileno())  # some file systems give blocks only then
    assert stored_bytes(str(tmp_path)) == 15_000
    os.link(tmp_path / "one", tmp_path / "again")
    (tmp_path / "link").symlink_to(tmp_path / "one")
    assert stored_bytes(str(tmp_path)) == 15_000
    with (tmp_path / "sparse").open("wb") as f:
        f.truncate(10_000_000)
    assert stored_bytes(str(tmp_path)) < 100_000


def test_a_directory_that_is_gone_holds_nothing(tmp_path: Path) -> None:
    assert stored_bytes(str(tmp_path / "gone")) == 0


def test_a_long_walk_is_followed_by_a_rest_and_the_last_reading_does_not_wait(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"x")
    probe = StoredBytes(tmp_path, rest=10**9)  # any walk at all is long
    assert len(probe.read(1)) == 1
    assert probe.read(2) == []
    assert [(r.subject, r.metric, r.unit) for r in probe.read_now(3)] == [("cluster", "stored_bytes", "B")]
