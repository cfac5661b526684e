"""Who measures a run now: asked by many at once, answered by the lock."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from brokerlab import lab
from brokerlab.errors import NotFoundError
from brokerlab.results.directory import RunDirectory
from brokerlab.results.run_state import LOCK_FILE, in_progress, runner_pid

# A shell that starts a program in the background lets it ignore SIGINT, and so do its children, unless they say otherwise.
HOLD = """
import os, signal, sys
from collections.abc import Iterator
from pathlib import Path
from brokerlab.runner import _locked
signal.signal(signal.SIGINT, signal.default_int_handler)
with _locked(Path(sys.argv[1])):
    print(os.getpid(), flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", HOLD, str(tmp_path / LOCK_FILE)]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert process.stdout is not None
    process.stdout.readline()
    yield process
    process.kill()
    process.communicate()


def test_the_process_that_measures_is_known_while_it_does(tmp_path: Path, holder: subprocess.Popen[str]) -> None:
    run = RunDirectory(tmp_path)
    assert runner_pid(run) == holder.pid
    holder.communicate("")
    assert not in_progress(run)
    assert runner_pid(run) is None


def test_those_who_ask_at_the_same_moment_do_not_see_each_other(tmp_path: Path) -> None:
    (tmp_path / LOCK_FILE).write_text("1")
    with (tmp_path / LOCK_FILE).open() as other:
        fcntl.flock(other, fcntl.LOCK_SH)
        assert not in_progress(RunDirectory(tmp_path))


def test_stopping_is_what_ctrl_c_does_and_nothing_once_it_is_over(
    tmp_path: Path, holder: subprocess.Popen[str]
) -> None:
    run = RunDirectory(tmp_path)
    lab.stop(run)
    assert holder.wait(60) in (-signal.SIGINT, 130, 1)
    with pytest.raises(NotFoundError):
        lab.stop(run)


def test_a_process_id_without_a_held_lock_is_never_sent_a_signal(tmp_path: Path) -> None:
    (tmp_path / LOCK_FILE).write_text(str(os.getpid()))
    with pytest.raises(NotFoundError):
        lab.stop(RunDirectory(tmp_path))
