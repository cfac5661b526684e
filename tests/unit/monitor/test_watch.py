"""The loop: readings become evidence, a target that goes away is said and read again."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

import pytest

from brokerlab import lab
from brokerlab.brokers.contract import Capabilities, NodeInfo, Reading
from brokerlab.errors import BrokerError
from brokerlab.model.listener import SilentListener
from brokerlab.model.plan import TargetPlan
from brokerlab.monitor import readers
from brokerlab.monitor.readers import AbsentError, BrokerReader, ProcessReader
from brokerlab.monitor.targets import Watched
from brokerlab.results.directory import RunDirectory
from brokerlab.results.run_state import run_state
from brokerlab.results.watched import read_readings, series_rows

WITHIN_S = 120.0


class Notes(SilentListener):
    def __init__(self) -> None:
        self.texts: list[str] = []

    def note(self, text: str) -> None:
        self.texts.append(text)


class Flickering:
    """There, away, and there again: turns say which."""

    def __init__(self, ended: Callable[[], None]) -> None:
        self._turn = 0
        self._ended = ended

    def read(self) -> list[Reading]:
        self._turn += 1
        if 3 <= self._turn <= 5:
            raise AbsentError("nothing answers")
        if self._turn == 9:
            self._ended()
        # Turns that come before the end is noticed add nothing.
        return [Reading("process:x", "read_bytes_total", 10.0 * min(self._turn, 9), "B")]


def test_a_target_that_goes_away_is_said_and_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from brokerlab.lab import watching

    ended = threading.Event()
    monkeypatch.setattr(watching, "_reader", lambda *_: Flickering(ended.set))
    monkeypatch.setattr(watching, "_ending", lambda: Given(ended))
    wanted = Watched(name="flicker", interval_s=0.2, targets=(TargetPlan(kind="process", name="x", pid=1),))
    notes = Notes()
    answer = lab.watch(wanted, tmp_path, for_s=WITHIN_S, listener=notes)
    assert [t.split(":")[0].split(" after")[0] for t in notes.texts] == [
        "x (process 1) is gone",
        "x (process 1) is back",
    ]
    assert [r.code for r in answer.verdict.reasons] == ["target_gone", "target_back"]
    (row,) = series_rows(read_readings(answer.run)[0])
    assert row.increase == 80.0  # from the first reading to the ninth: what happened while it was away counts
    assert answer.report.exists()


class Incomplete:
    """Always there; in some turns without one of its parts."""

    def __init__(self, ended: Callable[[], None]) -> None:
        self._turn = 0
        self._ended = ended

    def read(self) -> list[Reading]:
        self._turn += 1
        if self._turn == 8:
            self._ended()
        return [Reading("process:x", "read_bytes_total", 10.0 * self._turn, "B")]

    def missing(self) -> dict[str, str]:
        return {"group billing": "does not\nanswer"} if 3 <= self._turn <= 5 else {}


def test_a_part_that_does_not_answer_is_said_and_the_rest_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from brokerlab.lab import watching

    ended = threading.Event()
    monkeypatch.setattr(watching, "_reader", lambda *_: Incomplete(ended.set))
    monkeypatch.setattr(watching, "_ending", lambda: Given(ended))
    wanted = Watched(name="part", interval_s=0.2, targets=(TargetPlan(kind="process", name="x", pid=1),))
    notes = Notes()
    answer = lab.watch(wanted, tmp_path, for_s=WITHIN_S, listener=notes)
    assert [t.split(";")[0].split(" after")[0] for t in notes.texts] == [
        "x (process 1), group billing is gone: does not answer",
        "x (process 1), group billing is back",
    ]
    assert [r.code for r in answer.verdict.reasons] == ["target_gone", "target_back"]
    (row,) = series_rows(read_readings(answer.run)[0])
    assert row.readings >= 8


class Given:
    def __init__(self, event: threading.Event) -> None:
        self._event = event

    def __enter__(self) -> threading.Event:
        return self._event

    def __exit__(self, *_: object) -> None: ...


class Told:
    def read(self) -> list[Reading]:
        return [Reading("broker:b-1", "connections", 3.0, "1")]


class Refused:
    def read(self) -> list[Reading]:
        raise BrokerError("the user must not list queues")


class Watchable:
    """A broker whose own figures can be read; its destinations cannot."""

    capabilities = Capabilities(nodes=(), durability_levels={}, acknowledgement="")
    figure_options: ClassVar[dict[str, str]] = {}

    def nodes_at(self, addresses: tuple[str, ...], options: object, name: str) -> tuple[NodeInfo, ...]:  # noqa: ARG002
        return ()

    def probe(self, endpoint: object, nodes: object) -> Told:  # noqa: ARG002
        return Told()

    def lag_probe(self, endpoint: object, nodes: object, name: str) -> Refused:  # noqa: ARG002
        return Refused()


def test_destinations_that_cannot_be_read_cost_the_brokers_own_figures_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers, "broker_named", lambda _: Watchable())
    with socket.create_server(("127.0.0.1", 0)) as there:
        address = f"127.0.0.1:{there.getsockname()[1]}"
        reader = BrokerReader(TargetPlan(kind="broker", name="b", broker="any", addresses=(address,)))
        assert [r.metric for r in reader.read() if r.subject == "broker:b-1"] == ["connections"]
        assert reader.missing() == {"its destinations and groups": "the user must not list queues"}
    with pytest.raises(AbsentError, match="nothing answers"):
        reader.read()


def test_a_process_that_ends_is_absent() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        reader = ProcessReader(TargetPlan(kind="process", name="child", pid=child.pid))
        assert {r.subject for r in reader.read()} == {"process:child"}
    with pytest.raises(AbsentError, match="has ended"):
        reader.read()


def test_the_command_writes_a_run_that_other_commands_read(tmp_path: Path) -> None:
    def brokerlab(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "brokerlab.cli.main", *arguments]
        env = {**os.environ, "BROKERLAB_RUNS": str(tmp_path)}
        return subprocess.run(command, capture_output=True, text=True, timeout=WITHIN_S, env=env, check=False)

    begun = time.time()
    said = brokerlab("monitor", "host", f"process={os.getpid()}", "--for", "3s", "--quiet")
    assert said.returncode == 0, said.stderr
    assert f"process:process-{os.getpid()}" in said.stdout
    (path,) = (p for p in tmp_path.iterdir() if (p / "plan.json").exists())
    run = RunDirectory(path)
    assert (run.plan().kind, run_state(run).word) == ("monitor", "complete")
    rows = {(r.subject, r.metric): r for r in series_rows(read_readings(run)[0])}
    assert rows["host", "load1"].readings >= 2
    assert rows["host", "load1"].first_unix_s >= int(begun)
    for command in (
        ("show", "last"),
        ("list", "runs"),
        ("report", "last"),
        ("analyze", "last"),
        ("export", "last", "csv"),
    ):
        again = brokerlab(*command)
        assert again.returncode == 0, (command, again.stderr)
    table = brokerlab("export", "last", "csv", "--from", "2020-01-01T00:00:00Z").stdout.splitlines()
    assert table[0].startswith("time_utc,run,")
    assert table[1].partition(",")[0].endswith("Z")
