from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from brokerlab.pipeline.scratch import LOCK, NO_LOCK_S, PREFIX, delete_abandoned, scratch_directory

_HOLD = """
from brokerlab.pipeline.scratch import scratch_directory
import time
with scratch_directory() as path:
    (path / "blockmgr").mkdir()
    (path / "blockmgr" / "spilled").write_bytes(b"x" * 1000)
    print(path, flush=True)
    time.sleep(100)
"""


def test_what_a_killed_analysis_left_is_deleted_by_the_next_and_what_is_in_use_stays(tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    holders = [
        subprocess.Popen([sys.executable, "-c", _HOLD], env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    try:
        places = [Path(h.stdout.readline().strip()) for h in holders if h.stdout is not None]
        assert delete_abandoned(tmp_path) == []
        holders[0].send_signal(signal.SIGKILL)
        holders[0].wait()
        assert places[0].is_dir()
        assert delete_abandoned(tmp_path) == [places[0]]
        assert not places[0].exists()
        assert (places[1] / "blockmgr" / "spilled").is_file()
    finally:
        for holder in holders:
            holder.kill()
            holder.communicate()


def test_a_directory_without_a_lock_is_deleted_after_a_day(tmp_path: Path) -> None:
    new, old, other = (tmp_path / name for name in (f"{PREFIX}new", f"{PREFIX}old", "of-someone-else"))
    for path in (new, old, other):
        path.mkdir()
    then = time.time() - NO_LOCK_S - 60
    for path in (old, other):
        os.utime(path, (then, then))
    assert delete_abandoned(tmp_path) == [old]
    assert new.is_dir()
    assert other.is_dir()


def test_the_directory_is_gone_after_the_block() -> None:
    with scratch_directory() as path:
        assert (path / LOCK).is_file()
    assert not path.exists()
