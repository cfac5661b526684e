"""up, status, down on real processes, with the memory broker; and a supervisor whose cluster does not start."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from brokerlab.errors import BrokerError, MachineError
from brokerlab.processes import daemon


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A cache of its own, deeper than a socket's name may be long; nothing is up in it afterwards."""
    path = tmp_path / ("deep-" * 20) / "home"
    monkeypatch.setenv("BROKERLAB_HOME", str(path))
    yield path
    daemon.ask(path / "up", "memory", "stop")


def _brokerlab(*args: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "brokerlab.cli.main", *args]
    return subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)


def _json(*args: str) -> Any:
    said = _brokerlab(*args, "--json")
    assert said.returncode == 0, said.stderr
    return json.loads(said.stdout)


def _wait_gone(pid: int) -> None:
    deadline = time.monotonic() + 120
    while Path(f"/proc/{pid}").exists():
        assert time.monotonic() < deadline, f"process {pid} is still there"
        time.sleep(0.05)


def _left(home: Path) -> list[str]:
    return sorted(p.name for p in (home / "up").iterdir())


def test_up_outlives_its_command_answers_and_goes_down(home: Path) -> None:
    up = _json("up", "memory")
    assert up["started"] is True
    host, _, port = up["endpoint"][0].partition(":")
    assert host == "127.0.0.1"
    with socket.create_connection((host, int(port)), timeout=60):
        pass
    status = _json("status", "memory")
    assert (status["state"], status["endpoint"]) == ("running", up["endpoint"])
    assert status["nodes"] == up["nodes"]
    down = _json("down", "memory")
    assert down["state"] == "stopped"
    _wait_gone(up["nodes"][0]["pid"])
    _wait_gone(up["supervisor_pid"])
    assert _left(home) == ["memory.lock"]
    assert _json("status", "memory") == {"broker": "memory", "state": "down"}
    assert _json("status") == []


def test_a_second_up_says_that_it_is_up(home: Path) -> None:  # noqa: ARG001
    first = _json("up", "memory")
    second = _brokerlab("up", "memory")
    assert second.returncode == 0
    assert "is already up" in second.stdout
    assert f"--endpoint memory={first['endpoint'][0]}" in second.stdout
    assert _json("up", "memory")["supervisor_pid"] == first["supervisor_pid"]


def test_down_without_up_is_the_users_mistake(home: Path) -> None:  # noqa: ARG001
    said = _brokerlab("down", "memory")
    assert said.returncode == 2
    assert "brokerlab up memory" in said.stderr


def test_a_killed_supervisor_takes_its_broker_along_and_up_works_again(home: Path) -> None:
    first = _json("up", "memory")
    os.kill(first["supervisor_pid"], signal.SIGKILL)
    _wait_gone(first["nodes"][0]["pid"])
    _wait_gone(first["supervisor_pid"])
    assert (home / "up" / "memory.sock").exists()
    assert _json("status", "memory")["state"] == "down"
    second = _json("up", "memory")
    assert second["started"] is True
    assert second["nodes"][0]["pid"] != first["nodes"][0]["pid"]


def test_a_node_that_died_is_shown(home: Path) -> None:  # noqa: ARG001
    up = _json("up", "memory")
    os.kill(up["nodes"][0]["pid"], signal.SIGKILL)
    deadline = time.monotonic() + 120
    while (status := _json("status", "memory"))["state"] != "degraded":
        assert time.monotonic() < deadline
    assert status["nodes"][0]["dead"] is True


def test_of_two_ups_at_once_one_starts_and_no_broker_is_left_over(home: Path) -> None:
    command = [sys.executable, "-m", "brokerlab.cli.main", "up", "memory", "--json"]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    said = [process.communicate(timeout=200) for process in both]
    started = [p.returncode == 0 and json.loads(out)["started"] for p, (out, _) in zip(both, said, strict=True)]
    assert sorted(started) == [False, True]
    for process, (_, err) in zip(both, said, strict=True):
        assert process.returncode == 0 or (process.returncode == 3 and "already" in err)
    pids = [n["pid"] for n in _json("status", "memory")["nodes"]]
    winner = next(json.loads(out) for (out, _), s in zip(said, started, strict=True) if s)
    assert pids == [n["pid"] for n in winner["nodes"]]
    _json("down", "memory")
    assert _left(home) == ["memory.lock"]


def test_a_supervisor_whose_command_has_gone_stops_again(home: Path) -> None:
    (home / "up").mkdir(parents=True)
    plan = {"broker": "memory", "nodes": 1, "durability": "L4", "security": None, "directory": str(home / "up")}
    with subprocess.Popen(
        [sys.executable, "-m", "brokerlab.background"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        out, _ = process.communicate(json.dumps(plan) + "\n", timeout=200)
    status = json.loads(out)
    assert status["state"] == "running"
    _wait_gone(status["nodes"][0]["pid"])
    deadline = time.monotonic() + 120
    while _left(home) != ["memory.lock"]:  # the supervisor clears up after its broker has ended
        assert time.monotonic() < deadline, _left(home)


def test_settings_are_checked_before_anything_starts(home: Path) -> None:
    wrong = _brokerlab("up", "kafka", "--set", "jmx.remot=true")
    assert wrong.returncode == 2
    assert "jmx.remote" in wrong.stderr
    assert _brokerlab("up", "kafka", "--set", "jmx.remote").returncode == 2
    assert not (home / "up").exists()


MENDS = """
import json, sys
from pathlib import Path
from brokerlab.model.plan import Endpoint
from brokerlab.processes.daemon import supervise

plan = json.loads(sys.stdin.buffer.readline())

class Cluster:
    looks = 0
    def __init__(self, data, logs): ...
    def start(self): ...
    def wait_ready(self, deadline_mono_ns): ...
    def endpoint(self): return Endpoint(addresses=())
    def nodes(self): return []
    def dead_nodes(self): return ()
    def look_after(self): self.looks += 1
    def more_facts(self): return {"looks": self.looks}
    def stop(self): ...
    def clean(self): ...

sys.exit(supervise(Path(plan["directory"]), "mends", {}, Cluster, 10.0))
"""


def test_what_mends_itself_is_given_the_time_to_whether_it_is_asked_or_not(tmp_path: Path) -> None:
    daemon.start(tmp_path, "mends", [sys.executable, "-c", MENDS], {"directory": str(tmp_path)})
    first = daemon.ask(tmp_path, "mends", "status")
    assert first is not None
    deadline = time.monotonic() + 120
    while (now := daemon.ask(tmp_path, "mends", "status")) is not None and now["looks"] < first["looks"] + 3:
        assert time.monotonic() < deadline
    daemon.ask(tmp_path, "mends", "stop")


FAILS = """
import json, sys
from pathlib import Path
from brokerlab.processes.daemon import supervise
from brokerlab.errors import NotReadyError

plan = json.loads(sys.stdin.buffer.readline())

class Cluster:
    def __init__(self, data, logs):
        self.data, self.trace = data, Path(plan["trace"])
    def start(self):
        self.data.mkdir(parents=True)
        self.trace.write_text("started ")
    def wait_ready(self, deadline_mono_ns):
        raise NotReadyError("not ready in time: a write\\nlast log lines:\\nno quorum", hint="look at the log")
    def stop(self):
        self.trace.write_text(self.trace.read_text() + "stopped ")
    def clean(self):
        self.trace.write_text(self.trace.read_text() + "cleaned")

sys.exit(supervise(Path(plan["directory"]), "fails", {}, Cluster, 10.0))
"""


def test_a_cluster_that_does_not_start_gives_its_last_log_lines_and_leaves_nothing(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    up = tmp_path / "up"
    with pytest.raises(BrokerError, match="no quorum") as caught:
        daemon.start(up, "fails", [sys.executable, "-c", FAILS], {"directory": str(up), "trace": str(trace)})
    assert caught.value.hint == "look at the log"
    assert trace.read_text() == "started stopped cleaned"
    assert sorted(p.name for p in up.iterdir()) == ["fails.lock"]
    assert daemon.ask(up, "fails", "status") is None


def test_a_supervisor_that_crashes_is_reported_with_its_last_words(tmp_path: Path) -> None:
    crash = [sys.executable, "-c", "raise SystemExit('no such thing')"]
    with pytest.raises(MachineError, match="no such thing"):
        daemon.start(tmp_path, "crash", crash, {})
