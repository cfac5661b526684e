"""Which executions a run has."""

from __future__ import annotations

from brokerlab.model.execution_id import ExecutionId
from brokerlab.model.plan import RunPlan
from brokerlab.model.state import RunState


def all_executions(plan: RunPlan, state: RunState) -> tuple[ExecutionId, ...]:
    """What the plan asks for, and the extra executions that state.json knows of, in the order they were begun."""
    extra = (ExecutionId.parse(name) for name, entry in state.executions.items() if entry.extra)
    return (*plan.order, *extra)
