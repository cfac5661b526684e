"""kill -9 in the middle of measure: of the runner, of an agent, of the broker."""

from __future__ import annotations

import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest
from lab import Lab, assert_gone, covered, fingerprint, is_gone, last_seconds, pids, rows, wait_measuring, workload

from brokerlab.errors import MachineError
from brokerlab.machine.cgroups import Group, Limits, place_of
from brokerlab.model.execution_id import ExecutionId
from brokerlab.results.directory import RunDirectory
from brokerlab.results.reader import read_rows
from brokerlab.results.tables import DELIVERY, RATE_PER_SECOND

LATEST_S = 5  # evidence is there up to so many seconds before the kill
GONE_S = 10.0


@dataclass
class Killed:
    """A run of two cells whose runner was killed while it measured the second, on the cluster kept from the first."""

    lab: Lab
    file: Path
    run: RunDirectory
    at_unix_s: float
    processes: list[psutil.Process]
    first_cell: dict[str, tuple[int, int]]
    groups: list[Path]  # control groups of the killed runner, where this machine has any


def groups_of(runner: int) -> list[Path]:
    try:
        return list(place_of("cpu").directory.glob(f"brokerlab-{runner}-*"))
    except MachineError:
        return []


def can_limit() -> bool:
    try:
        Group("trial", Limits(cpu_share=1), Path()).remove()
    except MachineError:
        return False
    return True


@pytest.fixture(scope="module")
def killed(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Killed:
    path = tmp_path_factory.mktemp("killed")
    lab = Lab(home, path / "runs")
    cluster = {"kept": True} | ({"cpu_share_per_node": 1} if can_limit() else {})
    file = workload(path, sweep={"phases.measure": ["2s", "14s"]}, cluster=cluster)
    with lab.started("run", file) as runner:
        processes = wait_measuring(lab, "c02-r1", runner)
        groups = groups_of(runner.pid)
        first_cell = fingerprint(lab.run().path / "evidence" / "c01-r1")
        runner.kill()
        at = time.time()
        runner.wait()
    assert_gone(processes, GONE_S)
    return Killed(lab, file, lab.run(), at, processes, first_cell, groups)


def test_no_process_survives_a_killed_runner(killed: Killed) -> None:
    assert all(is_gone(p) for p in killed.processes)


def test_the_second_execution_was_on_the_cluster_of_the_first(killed: Killed) -> None:
    assert killed.run.environment().cell("c02").executions["1"].cluster_of == "c01-r1"


def test_evidence_up_to_seconds_before_the_kill_is_there(killed: Killed) -> None:
    last = last_seconds(killed.run.evidence(ExecutionId(cell="c02", repeat=1)))
    assert set(last) == {"producer-1", "consumer-g1-1"}
    assert min(last.values()) >= int(killed.at_unix_s) - LATEST_S
    told = max(r["second_unix_s"] for r in rows(killed.run.probes(ExecutionId(cell="c02", repeat=1)), "reading"))
    assert told >= int(killed.at_unix_s) - LATEST_S


def test_what_the_broker_was_is_known_although_the_runner_never_ended_it(killed: Killed) -> None:
    known = killed.run.environment().cell("c02")
    assert known.durability is not None
    assert known.durability.level == "L4"
    assert known.effective_settings["server"]["storage"] == "memory"
    assert known.executions["1"].start_mono_ns


def test_show_says_what_is_incomplete(killed: Killed) -> None:
    shown = killed.lab.json("show", killed.run.name)
    assert (shown["state"], shown["complete"], shown["in_progress"]) == ("incomplete", False, False)
    assert [(e["cell"], e["state"]) for e in shown["executions"]] == [("c01", "finished"), ("c02", "interrupted")]
    assert "cut off" in shown["executions"][1]["reason"]
    text = killed.lab.call("show", killed.run.name).stdout
    assert "incomplete, 1 of 2 executions finished" in text
    assert "resumes it" in text


@pytest.fixture(scope="module")
def analyzed(killed: Killed) -> Any:
    answer = killed.lab.json("analyze", killed.run.name)
    tables = {t.name: read_rows(killed.run, t) for t in (DELIVERY, RATE_PER_SECOND)}
    return answer, tables


def test_what_a_killed_runner_left_can_be_analyzed(analyzed: Any) -> None:
    answer, tables = analyzed
    verdict = answer["verdict"]
    assert verdict["complete"] is False
    assert [c["repeats_finished"] for c in verdict["cells"]] == [1, 0]
    assert any(r["cell"] == "c02" and "cut off" in r["text"] for r in verdict["reasons"])
    assert {r["cell"] for r in tables["rate_per_second"]} == {"c01", "c02"}
    cut_off = next(r for r in tables["delivery"] if r["cell"] == "c02")
    assert cut_off["sent"] > 1000  # the warm-up alone
    assert not cut_off["drained"]
    assert verdict["delivery_violated"] is False, "messages nobody could wait for were called lost"


@pytest.fixture(scope="module")
def resumed(killed: Killed, analyzed: Any) -> subprocess.CompletedProcess[str]:  # noqa: ARG001 - analyzed comes before
    return killed.lab.call("run", killed.file, "--json")


def test_the_same_command_resumes_and_keeps_what_was_finished(
    killed: Killed, resumed: subprocess.CompletedProcess[str]
) -> None:
    assert "c01-r1 finished before: kept" in resumed.stderr
    run = killed.lab.run()
    assert run.environment().cell("c02").executions["1"].cluster_of == "c02-r1"
    assert bool(killed.groups) is can_limit()
    assert not any(group.exists() for group in killed.groups)
    assert run.path == killed.run.path
    assert fingerprint(run.evidence(ExecutionId(cell="c01", repeat=1))) == killed.first_cell
    states = run.state().executions
    assert {n: (s.state, s.attempt) for n, s in states.items()} == {
        "c01-r1": ("finished", 1),
        "c02-r1": ("finished", 2),
    }


def test_evidence_of_the_attempt_that_was_cut_off_is_set_aside_not_mixed_in(
    killed: Killed, resumed: subprocess.CompletedProcess[str]
) -> None:
    assert resumed.returncode in (0, 5), resumed.stderr  # 5: a busy machine may make the figures unbelievable
    aside = killed.run.path / "abandoned" / "c02-r1-1"
    assert {p.name for p in aside.iterdir()} == {"evidence", "probes", "events", "logs"}
    assert min(last_seconds(aside / "evidence").values()) >= int(killed.at_unix_s) - LATEST_S
    second = next(r for r in read_rows(killed.run, DELIVERY) if r["cell"] == "c02")
    assert second["sent"] == second["acknowledged"] == second["received"] == 15_000
    assert (second["lost"], second["duplicated"], second["drained"]) == (0, 0, True)


VICTIMS = {"c01-r1": "producer-1", "c02-r1": "consumer-g1-1", "c03-r1": "faulty-1"}


@dataclass
class Deaths:
    run: RunDirectory
    exit_code: int
    verdict: dict[str, Any]
    killed_unix_s: dict[str, float]
    processes: list[psutil.Process]


@pytest.fixture(scope="module")
def deaths(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Deaths:
    """One run of three cells; in each somebody else is killed. Acknowledgements take a while, so sends are open."""
    path = tmp_path_factory.mktemp("deaths")
    lab = Lab(home, path / "runs")
    file = workload(
        path,
        broker="faulty",
        phases={"warm_up": "1s", "measure": "60s", "drain_limit": "60s"},
        broker_settings={"faulty": {"delay": "constant(300ms)"}},
        sweep={"producers.rate": ["1000/s", "1100/s", "1200/s"]},
    )
    processes: list[psutil.Process] = []
    at: dict[str, float] = {}
    with lab.started("run", file, "--quiet") as runner:
        for execution, victim in VICTIMS.items():
            processes += wait_measuring(lab, execution, runner)
            pid = pids(lab.run(), execution)[victim]
            next(p for p in processes if p.pid == pid).kill()
            at[execution] = time.time()
        runner.communicate(timeout=280)
        code = runner.returncode
    verdict = lab.json("show", "last")["verdict"]
    return Deaths(lab.run(), code, verdict, at, processes)


def test_a_death_under_load_ends_the_run_as_invalid_and_leaves_nothing_running(deaths: Deaths) -> None:
    assert deaths.exit_code == 5
    assert deaths.verdict["verdict"] == "invalid"
    assert_gone(deaths.processes, GONE_S)
    states = {n: s.state for n, s in deaths.run.state().executions.items()}
    assert states == dict.fromkeys(VICTIMS, "failed")


@pytest.mark.parametrize("execution", VICTIMS)
def test_the_verdict_names_who_died(deaths: Deaths, execution: str) -> None:
    reasons = [r for r in deaths.verdict["reasons"] if str(ExecutionId.of(r)) == execution]
    told = [r for r in reasons if r["code"] in ("agent_died", "broker_died")]
    assert [VICTIMS[execution] in r["text"] for r in told] == [True]
    assert told[0]["code"] == ("broker_died" if execution == "c03-r1" else "agent_died")
    assert told[0]["weight"] == "invalid"


def test_a_dead_brokers_last_log_lines_are_told(deaths: Deaths) -> None:
    told = next(r for r in deaths.verdict["reasons"] if r["code"] == "broker_died")
    assert "serving on 127.0.0.1:" in told["text"]


@pytest.mark.parametrize("execution", VICTIMS)
def test_evidence_of_every_agent_up_to_seconds_before_a_death_is_there(deaths: Deaths, execution: str) -> None:
    last = last_seconds(deaths.run.path / "evidence" / execution)
    assert set(last) == {"producer-1", "consumer-g1-1"}
    assert min(last.values()) >= int(deaths.killed_unix_s[execution]) - LATEST_S


@pytest.mark.parametrize("execution", VICTIMS)
def test_sends_that_were_open_when_somebody_died_end_unknown_and_nothing_is_called_lost(
    deaths: Deaths, execution: str
) -> None:
    row = next(r for r in read_rows(deaths.run, DELIVERY) if str(ExecutionId.of(r)) == execution)
    assert row["unknown"] > 0
    assert row["sent"] == row["acknowledged"] + row["rejected"] + row["unknown"]
    assert not row["drained"]
    assert deaths.verdict["delivery_violated"] is False
    outcomes = rows(deaths.run.path / "evidence" / execution, "outcome")
    if VICTIMS[execution] != "producer-1":  # one that was killed cannot say so itself
        assert covered([o for o in outcomes if o["outcome"] == "unknown"]) == row["unknown"]
