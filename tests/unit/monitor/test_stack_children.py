"""A child of a stack that dies: said, and started again, later and later where it does not recover."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from brokerlab.monitor.stacks.stack import Child, end_in_words
from brokerlab.processes.process import ServerProcess


def ended(child: Child) -> None:
    deadline = time.monotonic() + 60
    while child.process.is_running():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def child_that_ends(tmp_path: Path, code: int) -> Child:
    command = [sys.executable, "-c", f"raise SystemExit({code})"]
    return Child(ServerProcess("one", command, tmp_path / "log", tmp_path / "work", {}), "ends")


def test_one_that_ends_again_and_again_is_started_after_longer_and_longer_pauses(tmp_path: Path) -> None:
    child = child_that_ends(tmp_path, 3)
    now, pauses = 0.0, []
    child.start(now)
    for _ in range(7):
        ended(child)
        died_at, restarts = now, child.restarts
        while child.restarts == restarts:
            child.look_after(now)
            now += 0.5
        pauses.append(now - 0.5 - died_at)
    assert pauses == [1, 2, 4, 8, 16, 30, 30]
    assert child.facts()["last_end"] == "ended with exit code 3"
    ended(child)


def test_one_that_lived_long_is_started_again_at_once_and_what_must_be_done_first_is_done(tmp_path: Path) -> None:
    child, done = child_that_ends(tmp_path, 0), []
    child.on_restart = lambda: done.append("cleared")
    child.start(0.0)
    ended(child)
    child.look_after(100.0)
    assert (child.restarts, done) == (1, ["cleared"])
    ended(child)


def test_one_that_was_stopped_is_left_alone(tmp_path: Path) -> None:
    child = child_that_ends(tmp_path, 0)
    child.start(0.0)
    child.process.stop()
    child.look_after(100.0)
    assert child.restarts == 0
    assert child.facts()["last_end"] is None


def test_ends_are_said_in_words() -> None:
    assert end_in_words(-9) == "killed by SIGKILL"
    assert end_in_words(1) == "ended with exit code 1"
