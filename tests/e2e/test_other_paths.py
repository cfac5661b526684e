"""Without the C library, with a row per message, and on a broker somebody else runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from lab import Lab, assert_gone, covered, rows, wait_measuring, workload

from brokerlab.brokers.contract import Admin
from brokerlab.brokers.registry import broker_named
from brokerlab.load.plans import destination_names
from brokerlab.model.execution_id import ExecutionId
from brokerlab.model.plan import Endpoint
from brokerlab.results.directory import RunDirectory
from brokerlab.workload.load import plan_workload

SENT = 4_000  # 1,000 a second over 1 s of warm-up and 3 s of measure
Row = dict[str, Any]
Message = tuple[int, int, int]


@pytest.fixture(scope="module", params=["1", "0"], ids=["native", "without the C library"])
def kept(request: pytest.FixtureRequest, home: Path, tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    """A short run with one row per message, on either engine."""
    path = tmp_path_factory.mktemp("kept")
    lab = Lab(home, path / "runs")
    file = workload(path, keep_messages=True, producers={"count": 2, "rate": "1_000/s", "message": "200B"})
    run = lab.run_only(file, BROKERLAB_NATIVE=request.param)
    used = run.environment().native_library
    assert used.startswith("none:") is (request.param == "0"), used
    return run


def messages(ranges: list[Row]) -> list[Message]:
    """Every message of the ranges, in the order of the ranges."""
    return [(r["producer"], r["partition"], s) for r in ranges for s in range(r["first"], r["last"] + 1)]


def outcomes(run: RunDirectory, outcome: str) -> list[Row]:
    return [o for o in rows(run.evidence(ExecutionId(cell="c01", repeat=1)), "outcome") if o["outcome"] == outcome]


def test_either_engine_counts_the_same(kept: RunDirectory) -> None:
    evidence = kept.evidence(ExecutionId(cell="c01", repeat=1))
    counted = {
        **{name: covered(outcomes(kept, name)) for name in ("sent", "acknowledged", "rejected", "unknown")},
        "received": covered(rows(evidence, "sequence")),
    }
    everything = dict.fromkeys(("sent", "acknowledged", "received"), SENT)
    assert counted == {**everything, "rejected": 0, "unknown": 0}
    for table in ("interval", "activity"):
        sums = {name: sum(r[name] for r in rows(evidence, table)) for name in everything}
        assert sums == everything, table
    assert sum(r["due"] for r in rows(evidence, "interval")) == SENT


def test_message_rows_agree_with_outcome_and_sequence_evidence(kept: RunDirectory) -> None:
    evidence = kept.evidence(ExecutionId(cell="c01", repeat=1))
    kept_rows = rows(evidence, "message")
    sends = [r for r in kept_rows if r["kind"] == "send"]
    deliveries = sorted((r for r in kept_rows if r["kind"] == "delivery"), key=lambda r: r["ordinal"])
    assert {r["outcome"] for r in sends} == {"acknowledged"}
    names = [(r["producer"], r["partition"], r["sequence"]) for r in sends]
    assert sorted(names) == sorted(messages(outcomes(kept, "acknowledged")))
    assert len(set(names)) == SENT
    lanes: dict[tuple[int, int], list[int]] = {}
    for r in deliveries:
        lanes.setdefault((r["producer"], r["partition"]), []).append(r["sequence"])
    arrived: dict[tuple[int, int], list[int]] = {}
    for r in sorted(rows(evidence, "sequence"), key=lambda r: (r["consumer"], r["ordinal"])):
        arrived.setdefault((r["producer"], r["partition"]), []).extend(range(r["first"], r["last"] + 1))
    assert lanes == arrived
    assert all(r["at_mono_ns"] >= r["scheduled_mono_ns"] for r in kept_rows)


@pytest.fixture
def broker_up(lab: Lab) -> Iterator[dict[str, Any]]:
    """A memory broker that somebody keeps running."""
    yield lab.json("up", "memory")
    lab.call("down", "memory")


def known(admin: Admin, *names: str) -> set[str]:
    """Which of these destinations the broker has."""
    return set(admin.effective_settings(names)) - {"server"}


def test_on_a_broker_the_user_runs_only_what_is_ours_is_made_and_deleted_even_after_a_kill(
    lab: Lab, tmp_path: Path, broker_up: dict[str, Any]
) -> None:
    endpoint = Endpoint(addresses=tuple(broker_up["endpoint"]))
    file = workload(tmp_path, phases={"warm_up": "1s", "measure": "8s", "drain_limit": "60s"}, retries=0)
    cell = plan_workload(file, broker_named=broker_named).cells[0]
    admin = broker_named("memory").admin(endpoint, cell)
    admin.create(("somebody-elses",), 3, ("their-group",))
    given = f"memory={endpoint.addresses[0]}"
    with lab.started("run", file, "--endpoint", given) as runner:
        processes = wait_measuring(lab, "c01-r1", runner, own_broker=False)
        runner.kill()
        runner.wait()
    assert_gone(processes, 10.0)
    plan = lab.run().plan()
    execution = ExecutionId(cell="c01", repeat=1)
    ours = [destination_names(plan.run, cell, execution, attempt) for attempt in (1, 2)]
    assert known(admin, *ours[0]) == set(ours[0]), "the run made nothing there"

    run = lab.run_only(file, given)
    assert (lab.state("c01-r1").state, lab.state("c01-r1").attempt) == ("finished", 2)
    assert known(admin, *ours[0], *ours[1], "somebody-elses") == {"somebody-elses"}
    sent, arrived = outcomes(run, "sent"), rows(run.evidence(execution), "sequence")
    assert sorted(messages(sent)) == sorted(messages(arrived)), "the earlier attempt's messages were read as ours"
    assert covered(sent) == 9_000

    (node,) = lab.json("status", "memory")["nodes"]
    assert node == broker_up["nodes"][0], "the broker is not the one it was"
    broker = psutil.Process(node["pid"])
    assert lab.call("down", "memory").returncode == 0
    assert_gone([broker], 30.0)
