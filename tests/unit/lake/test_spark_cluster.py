"""A real standalone cluster from the pip package: a master and two workers on loopback, executors with nothing but
pyarrow and numpy, one of them killed in the middle of a job. Analysis and lake are those of one machine."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
import venv
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
import pytest
from lake_runs import WITH_EVIDENCE, as_rows
from pyspark.sql import SparkSession

from brokerlab.lake.check import check
from brokerlab.lake.ingest import add
from brokerlab.lake.manifest import init
from brokerlab.lake.reading import Lake
from brokerlab.lake.store import LocalStore
from brokerlab.results.tables import EVIDENCE_FILE, STORED_TABLES

HOME = Path(pyspark.__file__).parent
DEADLINE_S = 120.0

_JOB = """
import sys
from pathlib import Path
from brokerlab.lake.ingest import add
from brokerlab.lake.store import LocalStore
from brokerlab.lake.manifest import init
from brokerlab.pipeline.analyze import analyze
from brokerlab.pipeline.profiles import spark_settings
from brokerlab.pipeline.session import spark_session

run, lake, master, *conf = sys.argv[1:]
with spark_session(None, spark_settings("cluster", master, conf)) as spark:
    analyze(Path(run))
    print("analyzed", flush=True)
    store = LocalStore(Path(lake))
    init(store)
    done = add(store, [Path(run)], lambda: spark_session(), without_spark=0)
    print(done.added, done.refused)
"""


def until(what: str, condition: Callable[[], Any]) -> Any:
    """What the condition returns once it is true."""
    deadline = time.monotonic() + DEADLINE_S
    while time.monotonic() < deadline:
        found = condition()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError(f"not within {DEADLINE_S:.0f} s: {what}")


def free_ports(n: int) -> list[int]:
    with ExitStack() as stack:
        taken = [stack.enter_context(socket.socket()) for _ in range(n)]
        for one in taken:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in taken]


class Cluster:
    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.processes: list[subprocess.Popen[bytes]] = []
        port, self.page, *others = free_ports(6)
        self.master = f"spark://127.0.0.1:{port}"
        self.others = others
        self._start("master.Master", "--port", port, "--webui-port", self.page)

    def complete(self) -> None:
        """Start the workers, and wait until the master knows them."""
        until("the master answers", self.state)
        for at in (0, 2):
            place = ("--port", self.others[at], "--webui-port", self.others[at + 1], "--cores", 1, "--memory", "700m")
            self._start("worker.Worker", *place, self.master)
        until("two workers have registered", lambda: (self.state() or {}).get("aliveworkers") == 2)

    def _start(self, program: str, *arguments: object) -> None:
        environment = {
            **{k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME")},
            "SPARK_HOME": str(HOME),
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
            "SPARK_WORKER_DIR": str(self.directory / "work"),
            "SPARK_LOCAL_DIRS": str(self.directory / "local"),
            "SPARK_LOCAL_IP": "127.0.0.1",
        }
        command = [str(HOME / "bin" / "spark-class"), f"org.apache.spark.deploy.{program}", "--host", "127.0.0.1"]
        with (self.directory / f"{len(self.processes)}.log").open("wb") as log:
            started = subprocess.Popen([*command, *map(str, arguments)], env=environment, stdout=log, stderr=log)
        self.processes.append(started)

    def state(self) -> Any:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.page}/json/", timeout=5) as answer:
                return json.load(answer)
        except (OSError, ValueError):  # at first it answers with something else
            return None

    def executors(self) -> list[psutil.Process]:
        found = []
        for process in self.processes[1:]:
            for child in psutil.Process(process.pid).children(recursive=True):
                try:
                    if any("CoarseGrainedExecutorBackend" in word for word in child.cmdline()):
                        found.append(child)
                except psutil.Error:
                    continue
        return found

    def stop(self) -> None:
        executors = self.executors()
        for process in self.processes[::-1]:
            process.terminate()
        for process in self.processes:
            process.wait(timeout=30)
        for left in psutil.wait_procs(executors, timeout=10)[1]:
            left.kill()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    (tmp_path / "cluster").mkdir()
    made = Cluster(tmp_path / "cluster")
    try:
        made.complete()
        yield made
    finally:
        made.stop()


@pytest.fixture
def bare_python(tmp_path: Path) -> Path:
    """A Python that has pyarrow, numpy and nothing else: neither brokerlab nor pyspark."""
    venv.EnvBuilder(symlinks=True, with_pip=False).create(tmp_path / "bare")
    (packages,) = (tmp_path / "bare").glob("lib/python*/site-packages")
    for package in (Path(numpy.__file__).parent, Path(pa.__file__).parent):
        for part in package.parent.glob(f"{package.name}*"):
            if not part.name.endswith(".dist-info"):
                (packages / part.name).symlink_to(part)
    return tmp_path / "bare" / "bin" / "python"


def busy(executor: psutil.Process) -> bool:
    """It has started a Python worker: a job with our functions is under way."""
    try:
        return any("pyspark.daemon" in child.cmdline() for child in executor.children())
    except psutil.Error:
        return False


def test_analysis_and_lake_on_a_cluster_are_those_of_one_machine_although_an_executor_is_killed(
    tmp_path: Path, sources: dict[str, Path], spark: SparkSession, cluster: Cluster, bare_python: Path
) -> None:
    here = Path(shutil.copytree(sources[WITH_EVIDENCE], tmp_path / "here" / WITH_EVIDENCE))
    there = Path(shutil.copytree(sources[WITH_EVIDENCE], tmp_path / "there" / WITH_EVIDENCE))
    shutil.rmtree(there / "tables")
    conf = (
        f"spark.pyspark.python={bare_python}",
        "spark.executor.memory=512m",
        "spark.executor.extraJavaOptions=-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.sql.shuffle.partitions=3",
    )
    job = subprocess.Popen(
        [sys.executable, "-c", _JOB, str(there), str(tmp_path / "lake"), cluster.master, *conf],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    victim = until("an executor works", lambda: job.poll() is not None or next(filter(busy, cluster.executors()), None))
    if isinstance(victim, psutil.Process):
        victim.kill()
    try:
        said, complaints = job.communicate(timeout=DEADLINE_S)
    finally:
        job.kill()
    assert job.returncode == 0, complaints
    assert isinstance(victim, psutil.Process), "the job ended before any executor worked"
    assert said.splitlines()[-1] == f"{(WITH_EVIDENCE,)} ()"
    numbers = {e.name for e in (tmp_path / "cluster" / "work").glob("app-*/*")}
    assert len(numbers) >= 3, "the killed executor was not replaced"
    _same_run(here, there)
    store = LocalStore(tmp_path / "beside")
    init(store)
    add(store, [here], lambda: pytest.fail("Spark was started"))
    by_cluster, by_machine = Lake(LocalStore(tmp_path / "lake")), Lake(store)
    assert not check(by_cluster).problems
    for table in ("delivery", "run_summary", "latency_histogram", "quarantined_row", "evidence_count"):
        assert as_rows(by_cluster.frame(table, spark)) == as_rows(by_machine.frame(table, spark)), table


def _same_run(here: Path, there: Path) -> None:
    assert json.loads((there / "verdict.json").read_text()) == json.loads((here / "verdict.json").read_text())
    for name in STORED_TABLES:
        one, other = (pq.read_table(path / "tables" / name / "part-0.parquet") for path in (here, there))
        if name == EVIDENCE_FILE.name:
            one, other = (t.drop_columns(["modified_unix_ns"]) for t in (one, other))
        assert one.equals(other), name
