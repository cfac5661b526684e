"""Known facts written as evidence segments; `synthetic` makes the facts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from brokerlab.evidence.tables import EVIDENCE_TABLES
from brokerlab.evidence.writer import SegmentWriter
from brokerlab.model.execution_id import ExecutionId
from brokerlab.model.histogram import SUB_BUCKET_BITS, bucket_of
from brokerlab.model.metrics import MEASURES, OF_DELIVERIES
from brokerlab.model.plan import CellPlan
from brokerlab.results.directory import RunDirectory

if TYPE_CHECKING:
    from synthetic import Truth

START_UNIX_S = 1_800_000_000
START_MONO_NS = 5_000_000_000_000
MESSAGE_BYTES = 200
PRODUCERS = 2
PARTITIONS = 2


def mono_of(start_s: int) -> int:
    """The monotonic clock when the UNIX clock showed `start_s`."""
    return START_MONO_NS + (start_s - START_UNIX_S) * 10**9


def runs_of(numbers: list[int]) -> list[tuple[int, int]]:
    """Runs of consecutive numbers, in order: the ledger's encoding, written the plain way."""
    made: list[tuple[int, int]] = []
    for n in numbers:
        if made and made[-1][1] + 1 == n:
            made[-1] = (made[-1][0], n)
        else:
            made.append((n, n))
    return made


def write_execution(
    run: RunDirectory, name: str, cell: CellPlan, repeat: int, truth: Truth, start_s: int, drained: bool
) -> None:
    where = {"run": name, "cell": cell.cell, "repeat": repeat}
    evidence = run.evidence(ExecutionId(cell=cell.cell, repeat=repeat))
    groups = [f"g{i + 1}" for i in range(cell.consumers.groups)]
    _write_outcomes(evidence, where, truth)
    for group in groups:
        _write_sequences(evidence, where, truth, group, mono_of(start_s))
    _write_intervals(evidence, where, cell, truth, groups, start_s)
    _write_activity(evidence, where, cell, truth, groups, start_s)
    _write_readings(run.probes(ExecutionId(cell=cell.cell, repeat=repeat)), where, start_s)
    _write_events(run.events(ExecutionId(cell=cell.cell, repeat=repeat)), where, cell, groups, start_s, drained)


def _write(directory: Path, writer: str, table: str, rows: list[dict[str, Any]]) -> None:
    segment = SegmentWriter(directory, writer, EVIDENCE_TABLES[table])
    names = [name for name in EVIDENCE_TABLES[table].names() if name != "host"]  # the writer knows its own
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


def _histograms(samples: dict[str, npt.NDArray[np.int64]], role: str) -> dict[str, Any]:
    """Columns of all measures; those that the other role takes are empty."""
    taken = {m for m in MEASURES if (m in OF_DELIVERIES) == (role == "consumer")}
    none = np.empty(0, np.int64)
    return {
        name: value
        for m in MEASURES
        for name, value in histogram_columns(m, samples[m] if m in taken else none).items()
    }


def _seconds(cell: CellPlan, start_s: int) -> list[tuple[int, str]]:
    warm, whole = int(cell.phases.warm_up_s), int(cell.phases.warm_up_s + cell.phases.measure_s)
    return [(start_s + i, "warm_up" if i < warm else "measure") for i in range(whole)]


def _write_intervals(
    directory: Path, where: dict[str, Any], cell: CellPlan, truth: Truth, groups: list[str], start_s: int
) -> None:
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
            "redelivered": 0, "bytes": n * MESSAGE_BYTES, "negative": 0, "negative_from_send": 0,
            "sub_bucket_bits": SUB_BUCKET_BITS,
        }  # fmt: skip
        rows["producer-1"].append(
            {
                **base, "agent": "producer-1", "role": "producer", "group": "", "due": n, "sent": n, "acknowledged": n,
                "received": 0, **_histograms(share, "producer"),
            }
        )  # fmt: skip
        for g in groups:
            rows[f"consumer-{g}-1"].append(
                {
                    **base, "agent": f"consumer-{g}-1", "role": "consumer", "group": g, "due": 0, "sent": 0,
                    "acknowledged": 0, "received": n, **_histograms(share, "consumer"),
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
                          "bytes", "buffer_full", "behind", "in_flight", "longest_pause_ns"), 0)  # fmt: skip
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
    before = {**where, "at_mono_ns": mono_of(start_s) - 10**9, "second_unix_s": start_s - 1}
    rows = [{**before, "subject": "cluster", "metric": "stored_bytes", "value": 5e6, "unit": "B"}]
    for i in range(11):
        at = {**where, "at_mono_ns": mono_of(start_s) + i * 10**9, "second_unix_s": start_s + i}
        rows += [
            {**at, "subject": "host", "metric": "cpu_busy_cores", "value": 0.8 + 0.01 * i, "unit": "cores"},
            {**at, "subject": "host", "metric": "cpu_steal_cores", "value": 0.01, "unit": "cores"},
            {**at, "subject": "host", "metric": "cpu_foreign_cores", "value": 0.05, "unit": "cores"},
            {**at, "subject": "process:broker-1", "metric": "cpu_seconds_total", "value": 10 + 0.5 * i, "unit": "s"},
            {**at, "subject": "process:broker-1", "metric": "rss_bytes", "value": 1e8, "unit": "B"},
            {**at, "subject": "process:broker-1", "metric": "cpu_cores", "value": 0.4 + 0.02 * i, "unit": "cores"},
            {**at, "subject": "process:broker-1", "metric": "write_bytes_total", "value": 7e5 * i, "unit": "B"},
            {**at, "subject": "process:producer-1", "metric": "cpu_cores", "value": 0.9, "unit": "cores"},
            {**at, "subject": "cluster", "metric": "stored_bytes", "value": 5e6 + 240e3 * i, "unit": "B"},
        ]
    _write(directory, "probes", "reading", rows)


def _write_events(
    directory: Path, where: dict[str, Any], cell: CellPlan, groups: list[str], start_s: int, drained: bool
) -> None:
    mono = mono_of(start_s)
    end = mono + int((cell.phases.warm_up_s + cell.phases.measure_s) * 1e9)
    rows: list[dict[str, Any]] = [
        {**where, "source": "runner", "kind": "phase", "at_mono_ns": mono, "detail": '{"phase": "warm_up"}'},
        {
            **where,
            "source": "runner",
            "kind": "drain",
            "at_mono_ns": end + 10**9,
            "detail": json.dumps({"complete": drained, "groups": {g: {"complete": drained} for g in groups}}),
        },
        {**where, "source": "runner", "kind": "end", "at_mono_ns": end + 2 * 10**9, "detail": "{}"},
    ]
    _write(directory, "runner", "event", rows)
