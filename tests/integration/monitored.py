"""`brokerlab monitor` as a user starts it, and waiting for what it should do."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from brokerlab.results.directory import RunDirectory
from brokerlab.results.watched import SeriesRow, read_readings, series_rows

WITHIN_S = 180.0


def until(what: str, condition: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + WITHIN_S
    while not (found := condition()):
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(0.2)
    return found


@contextmanager
def monitoring(tmp_path: Path, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """The process and the file of what it says; its runs are in tmp_path/runs."""
    log = tmp_path / "stderr"
    command = [sys.executable, "-m", "brokerlab.cli.main", "monitor", *arguments]
    env = {**os.environ, "BROKERLAB_RUNS": str(tmp_path / "runs")}
    with log.open("w") as stderr:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, text=True, env=env)
        try:
            yield process, log
        finally:
            process.kill()
            process.communicate()


def series(tmp_path: Path) -> dict[tuple[str, str], SeriesRow]:
    """Of the one run, by subject and metric."""
    (path,) = (p for p in (tmp_path / "runs").iterdir() if (p / "plan.json").exists())
    return {(r.subject, r.metric): r for r in series_rows(read_readings(RunDirectory(path))[0])}
