"""A question answered without the command line: plan, run, analyze, report in one process."""

from __future__ import annotations

from pathlib import Path

import pytest
from lab import workload

from brokerlab import lab
from brokerlab.results.run_state import run_state


class Recorder:
    """A listener that keeps what it was given."""

    def __init__(self) -> None:
        self.stages: list[str] = []
        self.notes: list[str] = []
        self.shares: list[float] = []

    def stage(self, text: str) -> None:
        self.stages.append(text)

    def progress(self, done: float, text: str) -> None:  # noqa: ARG002
        self.shares.append(done)

    def note(self, text: str) -> None:
        self.notes.append(text)


def test_a_plan_becomes_an_answer_and_a_listener_hears_of_every_step(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BROKERLAB_HOME", str(home))
    plan = lab.plan(workload(tmp_path / "w", retries=0))  # a busy machine must not add executions
    listener = Recorder()
    answer = lab.run(plan, tmp_path / "runs", listener=listener)
    assert answer.run.path.parent == tmp_path / "runs"
    assert answer.verdict.delivery["received"] == answer.verdict.delivery["sent"] == 4000
    assert answer.verdict.delivery["lost"] == 0
    assert answer.report.is_file()
    assert {"sent_per_s", "end_to_end_latency_p99_ns"} <= {row["metric"] for row in answer.summary()}
    assert run_state(answer.run).word == "complete"
    assert listener.stages[0] == "starting memory (1 node)"
    assert listener.stages[-2:] == ["analyzing with Spark", "writing the report"]
    assert [note for note in listener.notes if "finished" in note] == ["c01-r1 finished: memory, repeat 1 of 1"]
    assert listener.shares
    assert listener.shares == sorted(listener.shares)
    again = lab.analyze(answer.run)
    assert again.verdict == answer.verdict
