"""A run directory made from known facts, without brokers or agents: what pipeline and report tests stand on.

`write_run` draws messages one by one from a seed, damages them in known ways, and writes the evidence a real run would
have left. It also returns the truth by message, so tests can count in their own way.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from brokerlab.evidence.tables import EVIDENCE_TABLES, MEASURES
from brokerlab.evidence.writer import SegmentWriter
from brokerlab.model.histogram import SUB_BUCKET_BITS, bucket_of
from brokerlab.model.plan import (
    CellPlan,
    ConsumersPlan,
    Durability,
    Execution,
    Objective,
    PayloadPlan,
    PhasesPlan,
    ProducersPlan,
    RunPlan,
    SchedulePlan,
    SizeShare,
)
from brokerlab.results.directory import RunDirectory, write_json

START_UNIX_S = 1_800_000_000
START_MONO_NS = 5_000_000_000_000
MESSAGE_BYTES = 200
PRODUCERS = 2
PARTITIONS = 2


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
        Execution(cell=c.cell, repeat=r + 1) for r in range(repeats) for c in made[:: 1 if r % 2 == 0 else -1]
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
    write_json(directory / "environment.json", environment(plan))
    executions: dict[str, Any] = {}
    truth: dict[tuple[str, int], Truth] = {}
    for number, e in enumerate(plan.order):
        name = f"{e.cell}-r{e.repeat}"
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
        _write_execution(run, plan.run, cell, e.repeat, made, start_s, drained)
    write_json(directory / "state.json", {"schema_version": 1, "executions": executions})
    return SyntheticRun(run, truth)


def environment(plan: RunPlan) -> dict[str, Any]:
    """environment.json as the runner writes it."""
    return {
        "schema_version": 1,
        "run": plan.run,
        "brokerlab": "0.1.0",
        "git_head": None,
        "python": "3.11.7",
        "java": "17.0.15",
        "native_library": "not built: no compiler",
        "host": {
            "cpu_count": 2,
            "cpu_model": "imaginary",
            "memory_bytes": 8 << 30,
            "kernel": "6.1",
            "hostname": "nowhere",
        },
        "clock": {"start": {"mono_ns": START_MONO_NS, "unix_ns": START_UNIX_S * 10**9}, "end": None},
        "cells": {
            c.cell: {
                "broker": c.broker,
                "version": "4.3.1" if c.broker == "kafka" else "2.14.0",
                "nodes": c.nodes,
                "endpoint": ["127.0.0.1:1"],
                "driver_path": "python",
                "effective_settings": {"broker": {"log.flush.interval.messages": "9223372036854775807"}},
                "durability": {"level": "L4", "because": {"replication": "1"}},
                "executions": {},
            }
            for c in plan.cells
        },
    }


def mono_of(start_s: int) -> int:
    """The monotonic clock when the UNIX clock showed `start_s`."""
    return START_MONO_NS + (start_s - START_UNIX_S) * 10**9


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
        for measure in MEASURES:
            truth.latencies_ns[measure, phase] = (base[measure] * rng.lognormal(0.0, 0.4, n)).astype(np.int64)
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


def runs_of(numbers: list[int]) -> list[tuple[int, int]]:
    """Runs of consecutive numbers, in order: the ledger's encoding, written the plain way."""
    made: list[tuple[int, int]] = []
    for n in numbers:
        if made and made[-1][1] + 1 == n:
            made[-1] = (made[-1][0], n)
        else:
            made.append((n, n))
    return made


def _write_execution(
    run: RunDirectory, name: str, cell: CellPlan, repeat: int, truth: Truth, start_s: int, drained: bool
) -> None:
    where = {"run": name, "cell": cell.cell, "repeat": repeat}
    evidence = run.evidence(cell.cell, repeat)
    groups = [f"g{i + 1}" for i in range(cell.consumers.groups)]
    _write_outcomes(evidence, where, truth)
    for group in groups:
        _write_sequences(evidence, where, truth, group, mono_of(start_s))
    _write_intervals(evidence, where, cell, truth, groups, start_s)
    _write_activity(evidence, where, cell, truth, groups, start_s)
    _write_readings(run.probes(cell.cell, repeat), where, start_s)
    _write_events(run.events(cell.cell, repeat), where, cell, groups, start_s, drained)


def _write(directory: Path, writer: str, table: str, rows: list[dict[str, Any]]) -> None:
    segment = SegmentWriter(directory, writer, EVIDENCE_TABLES[table])
    names = EVIDENCE_TABLES[table].names()
    for part in (rows[::2], rows[1::2]):  # two segments: readers must add them up
        segment.add({n: [row[n] for row in part] for n in names})
        segment.flush()


def _write_outcomes(directory: Path, where: dict[str, Any], truth: Truth) -> None:
    rows = []
    for (producer, partition), outcomes in truth.outcome.items():
        lane = {**where, "agent": "producer-1", "producer": producer, "partition": partition}
        rows.append({**lane, "first": 0, "last": len(outcomes) - 1, "outcome": "sent"})
        for word in ("acknowledged", "rejected", "unknown"):
            ranges = runs_of([s for s, o in enumerate(outcomes) if o == word])
            rows += [{**lane, "first": a, "last": b, "outcome": word} for a, b in ranges]
    _write(directory, "producer-1", "outcome", rows)


def _write_sequences(directory: Path, where: dict[str, Any], truth: Truth, group: str, mono_ns: int) -> None:
    rows, ordinal = [], 0
    for (producer, partition), arrivals in truth.arrivals.items():
        for first, last in runs_of(arrivals):
            ordinal += 1
            rows.append(
                {
                    **where, "agent": f"consumer-{group}-1", "group": group, "consumer": 0, "epoch": 0,
                    "producer": producer, "partition": partition, "first": first, "last": last,
                    "first_mono_ns": mono_ns, "last_mono_ns": mono_ns,  # ties: only the ordinal tells the order
                    "ordinal": ordinal, "redelivered": 0, "first_position": -1, "last_position": -1,
                }
            )  # fmt: skip
    _write(directory, f"consumer-{group}-1", "sequence", rows)


def histogram_columns(measure: str, samples: npt.NDArray[np.int64]) -> dict[str, Any]:
    buckets, counts = np.unique(bucket_of(samples), return_counts=True)
    return {
        f"{measure}_bucket": buckets.tolist(),
        f"{measure}_count": counts.tolist(),
        f"{measure}_min_ns": int(samples.min()) if len(samples) else 0,
        f"{measure}_max_ns": int(samples.max()) if len(samples) else 0,
        f"{measure}_sum_ns": int(samples.sum()),
    }


def _seconds(cell: CellPlan, start_s: int) -> list[tuple[int, str]]:
    warm, whole = int(cell.phases.warm_up_s), int(cell.phases.warm_up_s + cell.phases.measure_s)
    return [(start_s + i, "warm_up" if i < warm else "measure") for i in range(whole)]


def _write_intervals(
    directory: Path, where: dict[str, Any], cell: CellPlan, truth: Truth, groups: list[str], start_s: int
) -> None:
    none = np.empty(0, np.int64)
    seconds = _seconds(cell, start_s)
    per_phase = {p: sum(1 for _, q in seconds if q == p) for p in ("warm_up", "measure")}
    seen = dict.fromkeys(per_phase, 0)
    rows: dict[str, list[dict[str, Any]]] = {"producer-1": [], **{f"consumer-{g}-1": [] for g in groups}}
    for second, phase in seconds:
        share = {m: np.array_split(truth.latencies_ns[m, phase], per_phase[phase])[seen[phase]] for m in MEASURES}
        seen[phase] += 1
        n = len(share["send_delay"])
        base = {
            **where, "destination": 0, "second_unix_s": second, "phase": phase, "rejected": 0, "unknown": 0,
            "redelivered": 0, "bytes": n * MESSAGE_BYTES, "negative": 0, "sub_bucket_bits": SUB_BUCKET_BITS,
        }  # fmt: skip
        rows["producer-1"].append(
            {
                **base, "agent": "producer-1", "role": "producer", "group": "", "due": n, "sent": n, "acknowledged": n,
                "received": 0, **histogram_columns("publish_latency", share["publish_latency"]),
                **histogram_columns("end_to_end_latency", none), **histogram_columns("send_delay", share["send_delay"]),
            }
        )  # fmt: skip
        for g in groups:
            rows[f"consumer-{g}-1"].append(
                {
                    **base, "agent": f"consumer-{g}-1", "role": "consumer", "group": g, "due": 0, "sent": 0,
                    "acknowledged": 0, "received": n, **histogram_columns("publish_latency", none),
                    **histogram_columns("end_to_end_latency", share["end_to_end_latency"]),
                    **histogram_columns("send_delay", none),
                }
            )  # fmt: skip
    for agent, of_agent in rows.items():
        _write(directory, agent, "interval", of_agent)


def _write_activity(
    directory: Path, where: dict[str, Any], cell: CellPlan, truth: Truth, groups: list[str], start_s: int
) -> None:
    seconds = [*_seconds(cell, start_s)]
    seconds.append((seconds[-1][0] + 1, "drain"))
    rate = int((cell.producers.schedule.rate_per_s or 500.0) * PRODUCERS)
    zero = dict.fromkeys(("sent", "acknowledged", "rejected", "unknown", "received", "corrupted", "unexpected",
                          "bytes", "buffer_full", "behind", "in_flight"), 0)  # fmt: skip
    rows: dict[str, list[dict[str, Any]]] = {"producer-1": [], **{f"consumer-{g}-1": [] for g in groups}}
    for i, (second, phase) in enumerate(seconds):
        n = 0 if phase == "drain" else rate
        base = {
            **where, **zero, "second_unix_s": second, "phase": phase, "ticks": 5000, "cpu_user_ns": 250_000_000,
            "cpu_system_ns": 50_000_000, "elapsed_ns": 1_000_000_000, "bytes": n * MESSAGE_BYTES,
        }  # fmt: skip
        rows["producer-1"].append(
            {**base, "agent": "producer-1", "role": "producer", "group": "", "sent": n, "acknowledged": n,
             "in_flight": 10 + i}
        )  # fmt: skip
        for g in groups:
            bad = i == int(cell.phases.warm_up_s) + 1  # all of them in one second of the measure phase
            rows[f"consumer-{g}-1"].append(
                {**base, "agent": f"consumer-{g}-1", "role": "consumer", "group": g, "received": n,
                 "corrupted": truth.faults.corrupted if bad else 0,
                 "unexpected": truth.faults.unexpected if bad else 0}
            )  # fmt: skip
    for agent, of_agent in rows.items():
        _write(directory, agent, "activity", of_agent)


def _write_readings(directory: Path, where: dict[str, Any], start_s: int) -> None:
    rows = []
    for i in range(11):
        at = {**where, "at_mono_ns": mono_of(start_s) + i * 10**9, "second_unix_s": start_s + i}
        rows += [
            {**at, "subject": "host", "metric": "cpu_busy_cores", "value": 0.8 + 0.01 * i, "unit": "cores"},
            {**at, "subject": "host", "metric": "cpu_steal_cores", "value": 0.01, "unit": "cores"},
            {**at, "subject": "host", "metric": "cpu_foreign_cores", "value": 0.05, "unit": "cores"},
            {**at, "subject": "process:broker-1", "metric": "cpu_seconds_total", "value": 10 + 0.5 * i, "unit": "s"},
            {**at, "subject": "process:broker-1", "metric": "rss_bytes", "value": 1e8, "unit": "B"},
        ]
    _write(directory, "probes", "reading", rows)


def _write_events(
    directory: Path, where: dict[str, Any], cell: CellPlan, groups: list[str], start_s: int, drained: bool
) -> None:
    mono = mono_of(start_s)
    end = mono + int((cell.phases.warm_up_s + cell.phases.measure_s) * 1e9)
    rows: list[dict[str, Any]] = [
        {**where, "source": "runner", "kind": "start", "at_mono_ns": mono, "detail": "{}"},
        {
            **where,
            "source": "runner",
            "kind": "drain",
            "at_mono_ns": end + 10**9,
            "detail": json.dumps({"complete": drained, "groups": dict.fromkeys(groups, drained)}),
        },
        {**where, "source": "runner", "kind": "end", "at_mono_ns": end + 2 * 10**9, "detail": "{}"},
    ]
    _write(directory, "runner", "event", rows)
