"""Pacing: does the agent send when it should, and what does waiting cost? Against the memory broker."""

from __future__ import annotations

import statistics
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from benchmarks.kafka_agent import Agent
from benchmarks.machine import mark, usage
from brokerlab.brokers.registry import broker_named
from brokerlab.model.histogram import quantile_ns
from brokerlab.model.plan import (
    AgentPlan,
    CellPlan,
    ConsumersPlan,
    Durability,
    PayloadPlan,
    PhasesPlan,
    ProducersPlan,
    Role,
    SchedulePlan,
    SizeShare,
)

WARM_S, MEASURE_S = 2, 8


def _round(rate: float, directory: Path) -> tuple[float, float, float, float, float]:
    """(rate achieved / wanted, send_delay p50, p99 in ms, agent cores, foreign cores)."""
    producers = ProducersPlan(
        count=1, agents=1, schedule=SchedulePlan(rate_per_s=rate),
        payload=PayloadPlan(sizes=(SizeShare(message_bytes=200, weight=1),)),
    )  # fmt: skip
    phases = PhasesPlan(warm_up_s=WARM_S, measure_s=MEASURE_S, drain_limit_s=0)
    consumers = ConsumersPlan(groups=0, per_group=1, agents_per_group=1)
    cell = CellPlan(
        cell="pacing", label="pacing", broker="memory", nodes=1, durability=Durability.L4, destinations=1, partitions=1,
        producers=producers, consumers=consumers, phases=phases, parameters={}, broker_settings={}, client_settings={},
    )  # fmt: skip
    broker = broker_named("memory")
    cluster = broker.cluster(cell, directory / "data", directory / "logs")
    cluster.start()
    try:
        cluster.wait_ready(time.monotonic_ns() + 30_000_000_000)
        admin = broker.admin(cluster.endpoint(), cell)
        admin.create(("pacing",), 1, ())
        plan = AgentPlan(
            run="bench", cell="pacing", repeat=1, agent="producer-1", run_tag=7, role=Role.PRODUCER, broker="memory",
            driver="auto", endpoint=cluster.endpoint(), destinations=("pacing",), partitions=1, members=(0,),
            producers_in_cell=1, group=None, producers=producers, consumers=consumers, phases=phases, client_settings={},
            durability=Durability.L4, evidence_directory=str(directory / "evidence"), seed=1,
        )  # fmt: skip
        agent = Agent(plan, directory / "agent.log")
        agent.start()
        for _ in range(WARM_S):
            agent.wait_for("live")
        pids = [*agent.pids, cluster.nodes()[0].pid]
        first = mark(pids)
        for _ in range(MEASURE_S - 1):
            agent.wait_for("live")
        used = usage(first, mark(pids))
        agent.wait_for("done")
        agent.process.stop(10)
        admin.close()
    finally:
        cluster.stop()
        cluster.clean()
    sent, p50, p99 = _evidence(directory / "evidence")
    cores = sum(used.cpu_ns[p] for p in agent.pids) / 1e9 / used.seconds
    return sent / (rate * MEASURE_S), p50, p99, cores, used.foreign_cores


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
    """A Markdown table."""
    lines = [
        f"### Pacing against the memory broker, 200 B, {rounds} rounds of {MEASURE_S} s, median [range]",
        "",
        "| rate | achieved / wanted | send_delay p50, ms | send_delay p99, ms | agent CPU, cores | foreign load, cores |",
        "|---|---|---|---|---|---|",
    ]
    for rate in (1_000, 10_000, 100_000):
        made = [_round(rate, directory / f"pacing-{rate}-{n}") for n in range(rounds)]
        cells = [
            f"{statistics.median(v):.4f} [{min(v):.4f} - {max(v):.4f}]" if i == 0 else
            f"{statistics.median(v):.3f} [{min(v):.3f} - {max(v):.3f}]"
            for i, v in enumerate(zip(*made, strict=True))
        ]  # fmt: skip
        lines.append(f"| {rate:,}/s | " + " | ".join(cells) + " |")
    return "\n".join([*lines, ""])
