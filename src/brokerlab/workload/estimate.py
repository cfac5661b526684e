"""How long a plan takes and how much disk it needs, from the plan alone: rough, and said to be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from brokerlab.model.plan import Durability
from brokerlab.model.planned_load import mean_message_bytes, mean_rate_per_s

if TYPE_CHECKING:
    from brokerlab.model.plan import CellPlan, RunPlan

START_S_PER_NODE = 4.0  # of most brokers; Capabilities.start_s_per_node says otherwise
AROUND_S = 4.0  # agents start and subscribe, the drain ends, processes stop
PARTITION_S = 0.01  # to make, open and delete one
ANALYSIS_S = 20.0
EVIDENCE_BYTES_PER_AGENT_S = 20_000  # histograms and sequence runs of one second, compressed
MESSAGE_EVIDENCE_BYTES = 5  # per row, when every message is kept


@dataclass(frozen=True)
class Estimate:
    """Figures for the whole plan. Broker data is what one execution leaves at most: it is deleted after each."""

    seconds: float
    evidence_bytes: float
    broker_data_bytes: float | None  # None: a closed loop sends as fast as it can, so it is not known


Starts = Mapping[str, float]  # broker -> seconds that a node takes to start, where it is not START_S_PER_NODE
NO_STARTS: Starts = {}


def execution_seconds(cell: CellPlan, starts: Starts = NO_STARTS) -> float:
    start_s = 0.0 if cell.endpoint else _start_s(cell, starts)
    return start_s + _active_s(cell) + AROUND_S + PARTITION_S * cell.destinations * cell.partitions


def _start_s(cell: CellPlan, starts: Starts) -> float:
    """What a new cluster costs an execution: its start, and load to warm it up."""
    first_s = cell.phases.first_warm_up_s
    return starts.get(cell.broker, START_S_PER_NODE) * cell.nodes + (first_s + AROUND_S if first_s else 0.0)


def lengths_s(plan: RunPlan, starts: Starts = NO_STARTS) -> list[float]:
    """How long each execution takes, in the order of the plan; those that follow another one on the same kept cluster
    start none."""
    planned = _planned(plan)
    follows = [
        cell.cluster_key() is not None and cell.cluster_key() == b.cluster_key() for b, cell in pairwise(planned)
    ]
    return [
        execution_seconds(cell, starts) - (_start_s(cell, starts) if kept else 0.0)
        for cell, kept in zip(planned, [False, *follows], strict=True)
    ]


def _planned(plan: RunPlan) -> list[CellPlan]:
    cells = {c.cell: c for c in plan.cells}
    return [cells[e.cell] for e in plan.order]


def estimate(plan: RunPlan, starts: Starts = NO_STARTS) -> Estimate:
    planned = _planned(plan)
    data = [_broker_data_bytes(c) for c in plan.cells]
    known = [d for d in data if d is not None]
    return Estimate(
        seconds=sum(lengths_s(plan, starts)) + ANALYSIS_S,
        evidence_bytes=sum(_evidence_bytes(c) for c in planned),
        broker_data_bytes=max(known) if len(known) == len(data) and known else None,
    )


def _active_s(cell: CellPlan) -> float:
    """Warm-up and measure; a number of messages ends measure before its time where the rate is known."""
    messages, rate = cell.producers.messages, mean_rate_per_s(cell)
    measure_s = cell.phases.measure_s
    if messages is not None and rate:
        measure_s = min(measure_s, messages / rate)
    return cell.phases.warm_up_s + measure_s


def _messages(cell: CellPlan) -> float | None:
    """Sent in one execution; None where a closed loop decides."""
    rate, messages = mean_rate_per_s(cell), cell.producers.messages
    if rate is not None:
        return rate * _active_s(cell)
    return messages if not cell.phases.warm_up_s else None


def _broker_data_bytes(cell: CellPlan) -> float | None:
    messages, size = _messages(cell), mean_message_bytes(cell)
    if messages is None or size is None:
        return None
    copies = cell.nodes if cell.durability in (Durability.L1, Durability.L2) else 1
    return messages * size * copies


def _evidence_bytes(cell: CellPlan) -> float:
    agents = cell.producers.agents + sum(of.all_agents for of in cell.consumer_sets)
    always = agents * EVIDENCE_BYTES_PER_AGENT_S * _active_s(cell)
    if not cell.keep_messages:
        return always
    rows = (_messages(cell) or 0.0) * (1 + cell.groups)
    return always + rows * MESSAGE_EVIDENCE_BYTES
