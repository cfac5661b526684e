"""Turns what ledgers give up into evidence rows, and keeps what the live line and the drain need to know."""

from __future__ import annotations

import resource
from typing import Any

import numpy as np
import numpy.typing as npt

from brokerlab.agent.evidence_process import EvidencePipe
from brokerlab.agent.ledger import COUNTERS, NO_SAMPLES, OUTCOME_WORDS, IntervalRow, Rows
from brokerlab.model.histogram import SUB_BUCKET_BITS, quantile_ns
from brokerlab.model.metrics import MEASURES
from brokerlab.model.plan import AgentPlan

PHASES = ("warm_up", "measure")


class EvidenceNotes:
    """One agent's evidence: rows go down the pipe; the last second's latencies stay for the live line."""

    def __init__(self, plan: AgentPlan, pipe: EvidencePipe) -> None:
        self._plan = plan
        self._pipe = pipe
        self._usage = resource.getrusage(resource.RUSAGE_SELF)
        self._errors: dict[str, tuple[int, int, int]] = {}
        self.latest_p99_ns: dict[str, int] = {}
        self.highest_acknowledged: dict[tuple[int, int], int] = {}

    def intervals(self, rows: list[IntervalRow]) -> None:
        if not rows:
            return
        columns: dict[str, list[Any]] = {
            "role": [self._plan.role.value] * len(rows),
            "group": [self._plan.group or ""] * len(rows),
            "destination": [r.destination for r in rows],
            "second_unix_s": [r.second for r in rows],
            "phase": [PHASES[r.phase] for r in rows],
            "sub_bucket_bits": [SUB_BUCKET_BITS] * len(rows),
        }
        for name in COUNTERS:
            columns[name] = [r.counters[name] for r in rows]
        for measure in MEASURES:
            histograms = [r.histograms[measure] for r in rows]
            columns[f"{measure}_bucket"] = [h.bucket for h in histograms]
            columns[f"{measure}_count"] = [h.count for h in histograms]
            for field in ("min_ns", "max_ns", "sum_ns"):
                columns[f"{measure}_{field}"] = [getattr(h, field) for h in histograms]
            newest = max(rows, key=lambda r: (r.histograms[measure] is not NO_SAMPLES, r.second)).histograms[measure]
            if newest is not NO_SAMPLES:
                self.latest_p99_ns[measure] = quantile_ns(newest.bucket, newest.count, 0.99, newest.max_ns)
        self._pipe.put("interval", columns)

    def producer(self, number: int, rows: Rows) -> None:
        self.intervals(rows.intervals)
        ranges = rows.ranges
        if len(ranges):
            self._pipe.put(
                "outcome",
                {
                    "producer": np.full(len(ranges), number, np.int32),
                    "partition": ranges["partition"].copy(),
                    "first": ranges["first"].copy(),
                    "last": ranges["last"].copy(),
                    "outcome": [OUTCOME_WORDS[o] for o in ranges["outcome"].tolist()],
                },
            )
            of = ranges[ranges["outcome"] == 0]
            for partition, last in zip(of["partition"].tolist(), of["last"].tolist(), strict=True):
                lane = (number, partition)
                self.highest_acknowledged[lane] = max(self.highest_acknowledged.get(lane, -1), last)
        self._messages("send", rows.messages, number)

    def consumer(self, number: int, rows: Rows) -> None:
        self.intervals(rows.intervals)
        runs = rows.ranges
        if len(runs):
            columns = {name: runs[name].copy() for name in runs.dtype.names or () if name != "pad"}
            n = len(runs)
            self._pipe.put("sequence", {**columns, "group": [self._plan.group] * n, "consumer": [number] * n})
        self._messages("delivery", rows.messages, None)

    def _messages(self, kind: str, rows: npt.NDArray[Any], producer: int | None) -> None:
        n = len(rows)
        if n == 0:
            return
        columns: dict[str, Any] = {
            name: rows[name].copy() for name in ("partition", "sequence", "scheduled_mono_ns", "at_mono_ns", "ordinal")
        }
        columns["producer"] = rows["producer"].copy() if producer is None else [producer] * n
        columns["outcome"] = ["received" if o < 0 else OUTCOME_WORDS[o] for o in rows["outcome"].tolist()]
        self._pipe.put("message", {**columns, "kind": [kind] * n, "group": [self._plan.group or ""] * n})

    def errors(self, kinds: dict[str, int], now_ns: int) -> None:
        """Count errors by kind; written with the next activity row."""
        for kind, n in kinds.items():
            count, first, _ = self._errors.get(kind, (0, now_ns, now_ns))
            self._errors[kind] = (count + n, first, now_ns)

    def take_cpu_ns(self) -> tuple[int, int]:
        """What this process used since it was asked before: user and system time."""
        before, self._usage = self._usage, resource.getrusage(resource.RUSAGE_SELF)
        return round((self._usage.ru_utime - before.ru_utime) * 1e9), round(
            (self._usage.ru_stime - before.ru_stime) * 1e9
        )

    def activity(
        self, second_unix_s: int, phase: str, elapsed_ns: int, counts: dict[str, int], cpu_ns: tuple[int, int]
    ) -> None:
        """One row for the second that ended. Of an agent with several groups each has one, with an equal part of time
        and CPU: added up they are the agent's."""
        names = (
            "sent", "acknowledged", "rejected", "unknown", "received", "corrupted", "unexpected", "bytes",
            "buffer_full", "behind", "in_flight", "ticks", "longest_pause_ns",
        )  # fmt: skip
        self._pipe.put(
            "activity",
            {
                "role": [self._plan.role.value],
                "group": [self._plan.group or ""],
                "second_unix_s": [second_unix_s],
                "phase": [phase],
                **{name: [counts.get(name, 0)] for name in names},
                "cpu_user_ns": [cpu_ns[0]],
                "cpu_system_ns": [cpu_ns[1]],
                "elapsed_ns": [elapsed_ns],
            },
        )
        self._write_errors()

    def _write_errors(self) -> None:
        if not self._errors:
            return
        kinds = list(self._errors)
        counts, firsts, lasts = zip(*self._errors.values(), strict=True)
        self._pipe.put(
            "error", {"kind": kinds, "text": kinds, "count": counts, "first_mono_ns": firsts, "last_mono_ns": lasts}
        )
        self._errors = {}
