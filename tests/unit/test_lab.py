"""lab: what can be asked without a command line, and that the command line adds nothing of its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from brokerlab import lab
from brokerlab.cli.main import cli
from brokerlab.errors import NotFoundError, UserError, WorkloadError
from brokerlab.model.plan import Endpoint
from brokerlab.results.directory import RunDirectory, write_json
from synthetic import make_plan

NAME = "20261115T120000-steady-abc123"


class Recorder:
    """A listener that keeps what it was given."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.shares: list[float] = []

    def stage(self, text: str) -> None:
        self.lines.append(text)

    def progress(self, done: float, text: str) -> None:  # noqa: ARG002
        self.shares.append(done)

    def note(self, text: str) -> None:
        self.lines.append(text)


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    """A run that was planned and has no evidence."""
    found = RunDirectory(tmp_path / NAME)
    write_json(found.path / "plan.json", make_plan(NAME).model_dump(mode="json"))
    write_json(found.path / "state.json", {"executions": {}})
    return found


def test_a_listener_gets_what_the_command_line_prints(run: RunDirectory) -> None:
    recorder = Recorder()
    answer = lab.analyze(run, listener=recorder)
    printed = CliRunner().invoke(cli, ["analyze", NAME, "--runs", str(run.path.parent)])
    assert printed.stderr.splitlines() == recorder.lines == ["analyzing with Spark", "writing the report"]
    assert printed.exit_code == int(answer.verdict.exit_code())
    assert answer.verdict.headline.removeprefix("Invalid: ")[1:] in printed.stdout
    assert f"report: {answer.report}" in printed.stdout
    assert answer.report.read_text().startswith("<!doctype html>")


def test_a_report_needs_an_analysis_first(run: RunDirectory) -> None:
    with pytest.raises(UserError, match="has not been analyzed") as caught:
        lab.report(run)
    assert caught.value.hint == f"brokerlab analyze {NAME}"


def test_a_run_is_found_by_a_part_of_its_name(run: RunDirectory) -> None:
    assert lab.find_run("abc123", run.path.parent) == lab.find_run("last", run.path.parent) == run
    with pytest.raises(NotFoundError):
        lab.find_run("nothing-like-it", run.path.parent)


def test_a_plan_takes_what_the_command_line_takes(tmp_path: Path) -> None:
    plan = lab.plan("steady", overrides=["phases.measure=4s"], brokers=["memory", "faulty"], repeats=2, tag="mine")
    assert [c.broker for c in plan.cells] == ["memory", "faulty"]
    assert {c.phases.measure_s for c in plan.cells} == {4.0}
    assert (plan.repeats, plan.tag) == (2, "mine")
    at = Endpoint(addresses=("127.0.0.1:4222",))
    [cell] = lab.plan("steady", brokers=["memory"], endpoints={"memory": at}).cells
    assert lab.planned_settings(cell).broker.endswith("at 127.0.0.1:4222")
    with pytest.raises(WorkloadError, match="rate"):
        lab.plan("steady", overrides=["producers.rat=5/s"])
    (tmp_path / "w.yaml").write_bytes(b"\xff\xfe")
    with pytest.raises(UserError, match=r"w\.yaml"):
        lab.plan(tmp_path / "w.yaml")


def test_remarks_name_brokers_left_out_and_passwords_sent_unencrypted() -> None:
    plan = lab.plan("steady", brokers=["all"], overrides=["durability=strongest", "cluster.nodes=6"])
    assert "left out: nats: runs with 1 or 3 nodes here" in lab.remarks(plan)
    open_password = ["security.user=lab", "security.password=env:LAB"]
    readable = lab.plan("steady", brokers=["nats"], overrides=open_password)
    assert lab.remarks(readable) == ["nats: a password without TLS crosses the wire readable"]
    assert lab.remarks(lab.plan("steady", brokers=["nats"], overrides=[*open_password, "security.tls=true"])) == []
