"""A run directory made from known facts, without brokers or agents: what pipeline and report tests stand on.

`write_run` draws messages one by one from a seed, damages them in known ways, and writes the evidence a real run would
have left. It also returns the truth by message, so tests can count in their own way.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from brokerlab.model.environment import CellEnvironment, Clock, ClockPair, DurabilityFacts, Environment, Host
from brokerlab.model.execution_id import ExecutionId
from brokerlab.model.metrics import FROM_SCHEDULE, LATENCIES
from brokerlab.model.plan import (
    CellPlan,
    ConsumersPlan,
    Durability,
    Objective,
    PayloadPlan,
    PhasesPlan,
    ProducersPlan,
    RunPlan,
    SchedulePlan,
    SizeShare,
)
from brokerlab.results.directory import RunDirectory, write_json
from synthetic_evidence import (
    MESSAGE_BYTES,
    PARTITIONS,
    PRODUCERS,
    START_MONO_NS,
    START_UNIX_S,
    mono_of,
    runs_of,
    write_execution,
)


@dataclass(frozen=True)
class Faults:
    """How many messages of one execution suffer what. All fall into the measure phase, on different messages."""

    lost: int = 0
    duplicated: int = 0
    reordered: int = 0
    corrupted: int = 0
    unexpected: int = 0
    rejected: int = 0
    unknown: int = 0  # the first half of them arrives all the same
    unsettled: int = 0  # handed over, and no outcome ever written; arrive
    aborted_read: int = 0  # rejected, and arrive all the same


@dataclass
class Truth:
    """One execution, message by message. Lists by (producer, partition); sequence numbers are positions."""

    scheduled_mono_ns: dict[tuple[int, int], npt.NDArray[np.int64]] = field(default_factory=dict)
    outcome: dict[tuple[int, int], list[str]] = field(default_factory=dict)
    arrivals: dict[tuple[int, int], list[int]] = field(default_factory=dict)
    latencies_ns: dict[tuple[str, str], npt.NDArray[np.int64]] = field(default_factory=dict)  # (measure, phase)
    faults: Faults = field(default_factory=Faults)


@dataclass
class SyntheticRun:
    """`directory` on disk, `truth` by (cell, repeat)."""

    directory: RunDirectory
    truth: dict[tuple[str, int], Truth]


def make_plan(
    run: str,
    *,
    cells: int = 2,
    repeats: int = 2,
    rate_per_s: float = 500.0,
    warm_up_s: float = 2.0,
    measure_s: float = 8.0,
    groups: int = 1,
    arrival: str = "uniform",
    objectives: tuple[Objective, ...] = (),
) -> RunPlan:
    """A plan of alike cells, "kafka" and "nats" in turn; `rate_per_s` is per producer."""
    schedule = SchedulePlan.model_validate(
        {"arrival": arrival, "window": 100} if arrival == "closed" else {"arrival": arrival, "rate_per_s": rate_per_s}
    )
    made = tuple(
        CellPlan(
            cell=f"c{i + 1:02d}",
            label=("kafka", "nats")[i % 2],
            broker=("kafka", "nats")[i % 2],
            nodes=1,
            durability=Durability.L4,
            destinations=1,
            partitions=PARTITIONS,
            producers=ProducersPlan(
                count=PRODUCERS,
                agents=1,
                schedule=schedule,
                payload=PayloadPlan(sizes=(SizeShare(message_bytes=MESSAGE_BYTES, weight=1.0),)),
            ),
            consumers=ConsumersPlan(groups=groups, per_group=1, agents_per_group=1),
            phases=PhasesPlan(warm_up_s=warm_up_s, measure_s=measure_s, drain_limit_s=20.0),
            parameters={"broker": ("kafka", "nats")[i % 2]},
            broker_settings={},
            client_settings={},
        )
        for i in range(cells)
    )
    order = tuple(
        ExecutionId(cell=c.cell, repeat=r + 1) for r in range(repeats) for c in made[:: 1 if r % 2 == 0 else -1]
    )
    return RunPlan(
        run=run,
        name="synthetic",
        question="What does the pipeline make of known facts?",
        workload_file="synthetic.yaml",
        workload_text="broker: [kafka, nats]\n",
        overrides=(),
        fingerprint="0" * 64,
        tag=None,
        seed=0,
        repeats=repeats,
        cells=made,
        order=order,
        objectives=objectives,
    )


DEFAULT_FAULTS = {
    ("c01", 1): Faults(),
    ("c01", 2): Faults(duplicated=12, reordered=7),
    ("c02", 1): Faults(lost=9, duplicated=5, rejected=4, unknown=6),
    ("c02", 2): Faults(corrupted=3, unexpected=2, reordered=5, unsettled=4, aborted_read=2),
}


def write_run(
    directory: Path,
    seed: int = 0,
    *,
    plan: RunPlan | None = None,
    faults: dict[tuple[str, int], Faults] | None = None,
    drained: bool = True,
    skip: tuple[str, ...] = (),
    states: dict[str, str] | None = None,
) -> SyntheticRun:
    """Write a whole run under `directory`: plan, environment, state, evidence, probes and events.

    `faults` by (cell, repeat); `skip` names executions ("c01-r2") that never ran; `states` overrides "finished".
    """
    run = RunDirectory(directory)
    plan = plan or make_plan(directory.name)
    chosen = DEFAULT_FAULTS if faults is None else faults
    write_json(directory / "plan.json", plan.model_dump(mode="json"))
    run.write("environment.json", environment(plan))
    executions: dict[str, Any] = {}
    truth: dict[tuple[str, int], Truth] = {}
    for number, e in enumerate(plan.order):
        name = str(e)
        if name in skip:
            continue
        state = (states or {}).get(name, "finished")
        start_s = START_UNIX_S + 100 * number
        executions[name] = {
            "state": state,
            "reason": None if state == "finished" else "because the test says so",
            "started_unix_s": start_s,
            "ended_unix_s": start_s + 30,
            "drained": drained,
        }
        cell = next(c for c in plan.cells if c.cell == e.cell)
        rng = np.random.default_rng([seed, number])
        made = _draw(rng, cell, chosen.get((e.cell, e.repeat), Faults()), start_s)
        truth[e.cell, e.repeat] = made
        write_execution(run, plan.run, cell, e.repeat, made, start_s, drained)
    write_json(directory / "state.json", {"schema_version": 1, "executions": executions})
    return SyntheticRun(run, truth)


def environment(plan: RunPlan) -> Environment:
    """environment.json as the runner writes it."""
    return Environment(
        run=plan.run,
        brokerlab="0.1.0",
        python="3.11.7",
        java="17.0.15",
        native_library="not built: no compiler",
        host=Host(name="nowhere", cpu_count=2, cpu_model="imaginary", memory_bytes=8 << 30, kernel="6.1"),
        clock=Clock(start=ClockPair(mono_ns=START_MONO_NS, unix_ns=START_UNIX_S * 10**9)),
        cells={
            c.cell: CellEnvironment(
                broker=c.broker,
                version="4.3.1" if c.broker == "kafka" else "2.14.0",
                nodes=c.nodes,
                driver_path="python",
                effective_settings={"broker": {"log.flush.interval.messages": "9223372036854775807"}},
                durability=DurabilityFacts(level="L4", because={"replication": "1"}),
            )
            for c in plan.cells
        },
    )


def _draw(rng: np.random.Generator, cell: CellPlan, faults: Faults, start_s: int) -> Truth:
    """Every message's schedule, outcome and arrivals. Lanes take turns, so each gets rate x time / partitions."""
    truth = Truth(faults=faults)
    rate = cell.producers.schedule.rate_per_s or 500.0
    total = int(rate * (cell.phases.warm_up_s + cell.phases.measure_s))
    for producer in range(PRODUCERS):
        times = mono_of(start_s) + np.arange(total) * 10**9 // int(rate)
        for partition in range(PARTITIONS):
            lane = times[partition::PARTITIONS].astype(np.int64)
            truth.scheduled_mono_ns[producer, partition] = lane
            truth.outcome[producer, partition] = ["acknowledged"] * len(lane)
            truth.arrivals[producer, partition] = list(range(len(lane)))
    measure_from = mono_of(start_s) + int(cell.phases.warm_up_s * 1e9)
    _damage(rng, truth, faults, measure_from)
    for phase, of_phase in (("warm_up", lambda t: t < measure_from), ("measure", lambda t: t >= measure_from)):
        n = sum(int(of_phase(t).sum()) for t in truth.scheduled_mono_ns.values())
        base = {"publish_latency": 1_500_000, "end_to_end_latency": 2_500_000, "send_delay": 40_000}
        for measure in FROM_SCHEDULE:
            truth.latencies_ns[measure, phase] = (base[measure] * rng.lognormal(0.0, 0.4, n)).astype(np.int64)
        for measure in LATENCIES:
            late_ns = truth.latencies_ns["send_delay", phase]
            truth.latencies_ns[f"{measure}_from_send", phase] = np.maximum(
                truth.latencies_ns[measure, phase] - late_ns, 0
            )
    return truth


def _damage(rng: np.random.Generator, truth: Truth, faults: Faults, measure_from: int) -> None:
    """Apply each fault to messages of its own. Neighbours stay whole, so that counts add up by hand."""
    places = [
        (lane, s)
        for lane, times in sorted(truth.scheduled_mono_ns.items())
        for s in range(int(np.searchsorted(times, measure_from)) + 10, len(times) - 10, 6)
    ]
    drawn = iter([places[i] for i in rng.permutation(len(places))])
    for _ in range(faults.lost):
        lane, s = next(drawn)
        truth.arrivals[lane].remove(s)
    for _ in range(faults.duplicated):
        lane, s = next(drawn)
        truth.arrivals[lane].insert(truth.arrivals[lane].index(s) + 1, s)
    for _ in range(faults.reordered):
        lane, s = next(drawn)
        at = truth.arrivals[lane].index(s)
        truth.arrivals[lane].insert(at + 3, s)  # two later ones come first
        del truth.arrivals[lane][at]
    for i in range(faults.unknown):
        lane, s = next(drawn)
        truth.outcome[lane][s] = "unknown"
        if i >= faults.unknown // 2:
            truth.arrivals[lane].remove(s)
    for _ in range(faults.rejected):
        lane, s = next(drawn)
        truth.outcome[lane][s] = "rejected"
        truth.arrivals[lane].remove(s)
    for _ in range(faults.aborted_read):
        lane, s = next(drawn)
        truth.outcome[lane][s] = "rejected"
    for _ in range(faults.unsettled):
        lane, s = next(drawn)
        truth.outcome[lane][s] = "sent"


__all__ = [
    "DEFAULT_FAULTS", "MESSAGE_BYTES", "PARTITIONS", "PRODUCERS", "START_MONO_NS", "START_UNIX_S", "Faults",
    "SyntheticRun", "Truth", "environment", "make_plan", "mono_of", "runs_of", "write_run",
]  # fmt: skip
