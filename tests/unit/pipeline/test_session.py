"""The session in a process of its own: quiet, tidy, and with a reason when there is no Java."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

_COUNT = """
from pathlib import Path
from brokerlab.errors import MachineError
from brokerlab.pipeline.session import spark_session
import sys
try:
    with spark_session(Path(sys.argv[1]) if len(sys.argv) > 1 else None) as spark:
        with spark_session() as again:
            print(spark.range(7).count(), again is spark)
except MachineError as e:
    print("MachineError", e.hint)
"""


_FOR_EVER = """
from brokerlab.pipeline.session import spark_session
try:
    with spark_session() as spark:
        print("querying", flush=True)
        spark.range(10**15).selectExpr("sum(id % 7)").collect()
except KeyboardInterrupt:
    print("interrupted")
"""

_HIDDEN = """
from brokerlab.pipeline.session import spark_session
import time
try:
    with spark_session() as spark:
        print("querying", flush=True)
        try:
            time.sleep(60)
        finally:
            raise RuntimeError("Answer from Java side is empty")
except KeyboardInterrupt:
    print("interrupted")
"""


def run_session(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "BROKERLAB_HOME": str(home)}
    return subprocess.run(
        [sys.executable, "-c", _COUNT, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=280,
        check=True,
    )


def test_nothing_but_the_result_is_printed_and_the_class_archive_is_kept(tmp_path: Path) -> None:
    done = run_session(tmp_path)
    assert done.stdout == "7 True\n"
    assert done.stderr == ""
    archives = list((tmp_path / "spark").iterdir())
    assert [a.suffix for a in archives] == [".jsa"]


def test_without_java_the_error_says_what_to_do(tmp_path: Path) -> None:
    done = run_session(tmp_path, str(tmp_path / "no-java-here"))
    assert done.stdout == "MachineError brokerlab doctor checks Java and memory\n"
    assert done.stderr == ""


@pytest.mark.parametrize("program", [_FOR_EVER, _HIDDEN], ids=["a query", "clean-up that fails"])
def test_a_query_under_way_does_not_outlive_an_interrupt(program: str, tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    environment = {**os.environ, "TMPDIR": str(scratch)}
    command = [sys.executable, "-c", program]
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as asking:
        assert asking.stdout is not None
        assert asking.stdout.readline() == "querying\n"
        time.sleep(1)  # the query runs, or is being planned: either way it must end
        started = psutil.Process(asking.pid).children(recursive=True)
        asking.send_signal(signal.SIGTERM)
        said, complaints = asking.communicate(timeout=60)
    assert (said, complaints) == ("interrupted\n", "")
    assert started
    assert psutil.wait_procs(started, timeout=10)[1] == []
    assert list(scratch.glob("brokerlab-spark-*")) == []
