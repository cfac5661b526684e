"""How long a plan takes and how much disk it needs, from the plan alone: rough, and said to be."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from brokerlab.model.plan import Durability
from brokerlab.model.planned_load import mean_message_bytes, mean_rate_per_s

if TYPE_CHECKING:
    from brokerlab.model.plan import CellPlan, RunPlan

START_S_PER_NODE = 4.0  # what the slowest take; the others less
AROUND_S = 4.0  # agents start and subscribe, the drain ends, processes stop
ANALYSIS_S = 20.0
EVIDENCE_BYTES_PER_AGENT_S = 20_000  # histograms and sequence runs of one second, compressed
MESSAGE_EVIDENCE_BYTES = 5  # per row, when every message is kept


@dataclass(frozen=True)
class Estimate:
    """Figures for the whole plan. Broker data is what one execution leaves at most: it is deleted after each."""

    seconds: float
    evidence_bytes: float
    broker_data_bytes: float | None  # None: a closed loop sends as fast as it can, so it is not known


def execution_seconds(cell: CellPlan) -> float:
    start_s = 0.0 if cell.endpoint else START_S_PER_NODE * cell.nodes
    return start_s + _active_s(cell) + AROUND_S


def estimate(plan: RunPlan) -> Estimate:
    cells = {c.cell: c for c in plan.cells}
    planned = [cells[e.cell] for e in plan.order]
    data = [_broker_data_bytes(c) for c in plan.cells]
    known = [d for d in data if d is not None]
    return Estimate(
        seconds=sum(execution_seconds(c) for c in planned) - _starts_saved_s(planned) + ANALYSIS_S,
        evidence_bytes=sum(_evidence_bytes(c) for c in planned),
        broker_data_bytes=max(known) if len(known) == len(data) and known else None,
    )


def _starts_saved_s(planned: list[CellPlan]) -> float:
    """Of executions that follow another one on the same kept cluster."""
    return sum(
        START_S_PER_NODE * cell.nodes
        for before, cell in pairwise(planned)
        if cell.cluster_key() is not None and cell.cluster_key() == before.cluster_key()
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
    agents = cell.producers.agents + cell.consumers.groups * cell.consumers.agents_per_group
    always = agents * EVIDENCE_BYTES_PER_AGENT_S * _active_s(cell)
    if not cell.keep_messages:
        return always
    rows = (_messages(cell) or 0.0) * (1 + cell.consumers.groups)
    return always + rows * MESSAGE_EVIDENCE_BYTES
