"""Pacing: does the agent send when it should, and what does waiting cost?"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from benchmarks.brokers import NO_CONSUMERS, RunningBroker, one_producer
from benchmarks.figures import spread
from benchmarks.kafka_agent import Agent
from benchmarks.machine import mark, usage
from brokerlab.doctor.measurements import quantile, sleep_lateness_ns
from brokerlab.model.histogram import quantile_ns
from brokerlab.model.plan import AgentPlan, Durability, PhasesPlan, Role

WARM_S, MEASURE_S = 2, 8
RATES_PER_S = (1_000, 10_000, 100_000)
# The way of drivers that act in C, and the way of all others.
BROKERS = {"kafka": "ticks in C: Kafka", "memory": "ticks in Python: the memory broker"}
PHASES = PhasesPlan(warm_up_s=WARM_S, measure_s=MEASURE_S, drain_limit_s=0)


class _Target(RunningBroker):
    """One broker to pace against."""

    def __init__(self, name: str, directory: Path) -> None:
        super().__init__(name, directory, PHASES)
        self._name, self._directory = name, directory

    def round(self, rate_per_s: float, number: int) -> tuple[float, float, float, float, float, float]:
        """(rate achieved / wanted, send_delay p50, p99 in ms, that of a bare sleep, agent cores, foreign cores)."""
        bare_ms = quantile(sleep_lateness_ns()[0], 0.99) / 1e6  # what this machine does to any program that waits
        topic = f"pacing-{rate_per_s:.0f}-{number}"
        evidence = self._directory / topic
        self.admin.create((topic,), 1, ())
        plan = AgentPlan(
            run="bench", cell="pacing", repeat=1, agent="producer-1", run_tag=7, role=Role.PRODUCER, broker=self._name,
            driver="auto", endpoint=self.endpoint(), destinations=(topic,), partitions=1, members=(0,),
            producers_in_cell=1, group=None, producers=one_producer(rate_per_s), consumers=NO_CONSUMERS, phases=PHASES,
            client_settings={}, durability=Durability.L4, evidence_directory=str(evidence), seed=1,
        )  # fmt: skip
        agent = Agent(plan, self._directory / "agent.log")
        agent.start()
        for _ in range(WARM_S):
            agent.wait_for("live")
        pids = [*agent.pids, self.node().pid]
        first = mark(pids)
        for _ in range(MEASURE_S - 1):
            agent.wait_for("live")
        used = usage(first, mark(pids))
        agent.end()
        self.admin.delete((topic,), ())
        sent, p50, p99 = _evidence(evidence)
        cores = sum(used.cpu_ns[p] for p in agent.pids) / 1e9 / used.seconds
        return sent / (rate_per_s * MEASURE_S), p50, p99, bare_ms, cores, used.foreign_cores


def _evidence(directory: Path) -> tuple[int, float, float]:
    rows = pq.read_table(directory / "interval").to_pylist()
    measured = [r for r in rows if r["phase"] == "measure"]
    counts = np.zeros(1 << 13, np.int64)
    for row in measured:
        np.add.at(counts, row["send_delay_bucket"], row["send_delay_count"])
    buckets = np.flatnonzero(counts).astype(np.int32)
    p50, p99 = (quantile_ns(buckets, counts[buckets], q) / 1e6 for q in (0.5, 0.99))
    return sum(r["sent"] for r in measured), p50, p99


def pacing(directory: Path, rounds: int) -> str:
    """Markdown tables."""
    return "\n".join(_table(name, directory / f"pacing-{name}", rounds) for name in BROKERS)


def _table(name: str, directory: Path, rounds: int) -> str:
    lines = [
        f"### Pacing, {BROKERS[name]}, 200 B, {rounds} rounds of {MEASURE_S} s, median [range]",
        "",
        "| rate | achieved / wanted | send_delay p50, ms | p99, ms | a bare sleep before, p99, ms | agent CPU, cores | foreign load, cores |",
        "|---|---|---|---|---|---|---|",
    ]
    with _Target(name, directory) as target:
        for rate in RATES_PER_S:
            made = [target.round(rate, n) for n in range(rounds)]
            cells = [spread(column, 4 if i == 0 else 3) for i, column in enumerate(zip(*made, strict=True))]
            lines.append(f"| {rate:,}/s | " + " | ".join(cells) + " |")
    return "\n".join([*lines, ""])
