"""What makes a run invalid, what misses an objective, what damaged evidence does: exit codes and reasons."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from lab import Lab, workload

from brokerlab.model.execution_id import ExecutionId
from brokerlab.results.directory import RunDirectory
from brokerlab.results.reader import read_rows, read_verdict
from brokerlab.results.tables import DELIVERY, RATE_PER_SECOND, UNREADABLE_SEGMENT
from brokerlab.results.verdict import Verdict


def test_an_impossible_rate_gives_an_invalid_run_because_the_load_was_not_delivered(lab: Lab, tmp_path: Path) -> None:
    file = workload(
        tmp_path,
        producers={"rate": "50M/s", "message": "100B"},
        phases={"warm_up": "0s", "measure": "1s", "drain_limit": "60s"},
    )
    said = lab.call("run", file, "--quiet")
    assert said.returncode == 5, said.stderr
    verdict = read_verdict(lab.run())
    assert verdict.verdict == "invalid"
    reason = next(r for r in verdict.reasons if r.code == "load_not_delivered")
    assert reason.weight == "invalid"
    assert reason.value is not None
    assert reason.limit is not None
    assert 0 < reason.value < reason.limit
    assert "50,000,000 messages due" in reason.text, "what was asked is not what was scheduled"
    assert "the load was not delivered" in said.stdout
    assert verdict.delivery["lost"] == 0


@pytest.fixture(scope="module")
def missed(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A good run that misses one of its objectives. A broker that takes a second makes our own lateness, on whatever
    machine this runs, too small a part to spoil the verdict."""
    path = tmp_path_factory.mktemp("missed")
    lab = Lab(home, path / "runs")
    file = workload(
        path,
        broker="faulty",
        producers={"rate": "500/s", "message": "200B"},
        phases={"warm_up": "1s", "measure": "6s", "drain_limit": "60s"},
        broker_settings={"faulty": {"delay": "constant(1s)"}},
        objectives=["p99(end_to_end_latency) < 100ms", "p99(publish_latency) < 60s", "lost == 0"],
    )
    return lab, lab.call("run", file, "--quiet")


def test_a_missed_objective_makes_the_exit_code_7(missed: tuple[Lab, subprocess.CompletedProcess[str]]) -> None:
    lab, said = missed
    verdict = read_verdict(lab.run())
    assert [o.met for o in verdict.objectives] == ["missed", "met", "met"], verdict
    late = verdict.objectives[0].value
    assert late is not None
    assert late >= 1e9
    assert said.returncode == verdict.exit_code(), said.stdout
    spoiled = {r.cause for r in verdict.reasons if r.weight != "note"} & {"machine", "agent"}
    assert said.returncode == 7 or spoiled, "5 only where the machine itself was too busy to measure on"


@pytest.fixture(scope="module")
def damaged(
    missed: tuple[Lab, Any], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, RunDirectory, Verdict, int]:
    """A copy of that run in which one segment of arrivals has lost its second half, analyzed again."""
    lab, _ = missed
    original = lab.run()
    root = tmp_path_factory.mktemp("damaged")
    run = RunDirectory(root / original.name)
    shutil.copytree(original.path, run.path)
    shutil.rmtree(run.tables)
    run.verdict_file.unlink()
    segments = sorted(run.evidence(ExecutionId(cell="c01", repeat=1)).glob("sequence/*.parquet"))
    assert len(segments) > 1, "one segment only: there would be no rest to analyze"
    victim = segments[len(segments) // 2]
    with victim.open("r+b") as file:
        file.truncate(victim.stat().st_size // 2)
    said = Lab(Path(lab.env["BROKERLAB_HOME"]), root).call("analyze", run.name, "--quiet")
    assert said.stdout, said.stderr
    assert victim.name in said.stdout
    return victim.relative_to(run.path), run, read_verdict(run), said.returncode


def test_a_truncated_segment_stays_where_it_is_and_is_named_in_the_verdict_and_in_a_table(
    damaged: tuple[Path, RunDirectory, Verdict, int],
) -> None:
    victim, run, verdict, _ = damaged
    assert (run.path / victim).is_file()
    (row,) = read_rows(run, UNREADABLE_SEGMENT)
    assert (row["file"], row["table"], row["execution"]) == (str(victim), "sequence", "c01-r1")
    assert "unreadable" in row["reason"]
    (named,) = verdict.quarantined
    assert str(victim) in named
    assert any(r.code == "segment_unreadable" and str(victim) in r.text for r in verdict.reasons)
    assert verdict.verdict != "valid"


def test_the_rest_of_damaged_evidence_is_analyzed_and_what_is_missing_is_not_called_lost(
    damaged: tuple[Path, RunDirectory, Verdict, int], missed: tuple[Lab, Any]
) -> None:
    _, run, verdict, exit_code = damaged
    whole = missed[0].run()
    (before,), (after,) = read_rows(whole, DELIVERY), read_rows(run, DELIVERY)
    assert (after["sent"], after["acknowledged"]) == (before["sent"], before["acknowledged"])
    assert 0 < after["delivered"] < before["delivered"]
    assert before["drained"]
    assert not after["drained"]
    assert verdict.delivery_violated is False
    assert exit_code != 6
    assert read_rows(run, RATE_PER_SECOND) == read_rows(whole, RATE_PER_SECOND)
