"""Secrets on the command line: asked for before anything starts, and in no output or file."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from cli_runs import make_run
from click.testing import CliRunner, Result

from brokerlab import background
from brokerlab.brokers.memory.broker import BROKER as MEMORY
from brokerlab.cli.commands.up import required_security
from brokerlab.cli.main import cli
from brokerlab.cli.started_brokers import status_lines
from brokerlab.errors import UserError
from brokerlab.model.plan import LeftOut, Security

PLANTED = "hunter2-5527"
SECURITY = {"tls": True, "user": "lab", "password": "env:BROKERLAB_TEST_SECRET"}


@pytest.fixture(autouse=True)
def _own_directories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BROKERLAB_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("BROKERLAB_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("BROKERLAB_TEST_SECRET", raising=False)


@pytest.fixture
def memory_with_security(monkeypatch: pytest.MonkeyPatch) -> None:
    """The memory broker, saying that it can be asked for both; whether it could is not asked here."""
    can = replace(MEMORY.capabilities, security=("tls", "password"))
    monkeypatch.setattr("brokerlab.brokers.memory.broker.BROKER", replace(MEMORY, capabilities=can))


def _brokerlab(*args: str | Path) -> Result:
    return CliRunner().invoke(cli, [str(a) for a in args])


def _workload(tmp_path: Path, **fields: Any) -> Path:
    whole: dict[str, Any] = {
        "name": "secure", "question": "Is it kept?", "broker": "memory", "security": SECURITY,
        "producers": {"rate": "10/s"}, "phases": {"measure": "1s"},
    } | fields  # fmt: skip
    path = tmp_path / "w.yaml"
    path.write_text(yaml.safe_dump(whole, sort_keys=False))
    return path


@pytest.mark.usefixtures("memory_with_security")
def test_a_variable_that_is_not_set_ends_the_run_before_anything_is_made(tmp_path: Path) -> None:
    result = _brokerlab("run", _workload(tmp_path), "--quiet")
    assert result.exit_code == 2
    assert "BROKERLAB_TEST_SECRET is not set" in result.stderr
    assert not (tmp_path / "runs").exists()


@pytest.mark.usefixtures("memory_with_security")
def test_plan_says_what_is_asked_and_where_the_password_is_looked_for(tmp_path: Path) -> None:
    text = _brokerlab("plan", _workload(tmp_path)).stdout
    assert "TLS and password, user lab, password in env:BROKERLAB_TEST_SECRET" in text
    without = SECURITY | {"tls": False}
    said = json.loads(_brokerlab("plan", _workload(tmp_path, security=without), "--json").stdout)
    assert "password without TLS" in said["settings"]["c01"]["security"]
    assert "crosses the wire readable" in said["settings"]["c01"]["security"]


@pytest.mark.usefixtures("memory_with_security")
@pytest.mark.parametrize("verb", ["plan", "run"])
@pytest.mark.parametrize("how", ["file", "set", "endpoint"])
def test_a_literal_appears_in_no_output_and_no_file(tmp_path: Path, verb: str, how: str) -> None:
    security = SECURITY | {"password": PLANTED} if how == "file" else SECURITY
    flags = {"file": (), "set": ("--set", f"security.password={PLANTED}"), "endpoint": ("--endpoint", f"memory=lab:{PLANTED}@127.0.0.1:1")}[how]  # fmt: skip
    file = _workload(tmp_path, security=security)
    for as_json in ((), ("--json",)):
        result = _brokerlab(verb, file, *flags, *as_json)
        assert result.exit_code == 2, result.output
        assert PLANTED not in result.output
        assert "env:NAME or file:PATH" in result.stderr
    written = [p for p in tmp_path.rglob("*") if p.is_file() and p != file]
    assert not [p for p in written if PLANTED in p.read_text(errors="replace")]


def test_show_says_how_brokers_were_asked(tmp_path: Path) -> None:
    run = make_run(tmp_path / "runs")
    plan = run.plan()
    cells = tuple(c.model_copy(update={"security": Security.model_validate(SECURITY)}) for c in plan.cells)
    left_out = (LeftOut(broker="redis", reason="runs with 1 node here"),)
    run.write("plan.json", plan.model_copy(update={"cells": cells, "left_out": left_out}))
    text = _brokerlab("show", "last").stdout
    assert "security: kafka: TLS and password" in text
    assert "left out: redis: runs with 1 node here" in text


def test_up_takes_a_reference_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BROKERLAB_TEST_SECRET", "hush-4711")
    assert required_security(False, None, None) is None
    wanted = required_security(True, "lab", "env:BROKERLAB_TEST_SECRET")
    assert wanted is not None
    assert wanted.words() == "TLS and password"
    (tmp_path / "word").write_text("hush-4711\n")
    monkeypatch.chdir(tmp_path)
    kept = required_security(False, "lab", "file:word")
    assert kept is not None
    assert kept.password == f"file:{tmp_path / 'word'}"
    for user, password, why in (
        ("lab", None, "given together"), (None, "env:X", "given together"), ("a b", "env:X", "letters"),
        ("lab", PLANTED, "by reference"), ("lab", "env:BROKERLAB_TEST_NOWHERE", "not set"),
    ):  # fmt: skip
        with pytest.raises(UserError, match=why) as caught:
            required_security(True, user, password)
        assert PLANTED not in str(caught.value)


def test_up_refuses_security_that_the_broker_does_not_have() -> None:
    with pytest.raises(UserError, match="memory does not support TLS"):
        background.up("memory", security=Security(tls=True))


def test_status_names_the_reference_only() -> None:
    status: dict[str, Any] = {
        "broker": "nats", "state": "running", "uptime_s": 3, "durability": "L4", "endpoint": ["127.0.0.1:1"], "nodes": [],
        "directory": "/x", "security": {"tls": True, "user": "lab", "password": "env:P", "ca_file": "/x/ca.pem"},
    }  # fmt: skip
    assert "security: tls true, user lab, password env:P, ca_file /x/ca.pem" in status_lines(status)
    assert not [line for line in status_lines(status | {"security": None}) if line.startswith("security")]


def test_all_names_those_left_out_and_stands_alone() -> None:
    six = ("plan", "steady", "--broker", "all", "--set", "durability=strongest", "--set", "cluster.nodes=6")
    said = json.loads(_brokerlab(*six, "--json").stdout)["plan"]
    assert "kafka" in [c["broker"] for c in said["cells"]]
    assert {"broker": "nats", "reason": "runs with 1 or 3 nodes here"} in said["left_out"]
    assert not {"memory", "faulty"} & {x["broker"] for x in [*said["cells"], *said["left_out"]]}
    assert "left out: nats: runs with 1 or 3 nodes here" in _brokerlab(*six).stdout
    alone = _brokerlab("plan", "steady", "--broker", "all,memory")
    assert alone.exit_code == 2
    assert "stand alone" in alone.stderr
