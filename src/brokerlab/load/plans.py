"""From a cell to the plans of its agents."""

from __future__ import annotations

import zlib
from pathlib import Path

from brokerlab.model.execution_id import ExecutionId
from brokerlab.model.plan import AgentPlan, CellPlan, Endpoint, Role, RunPlan


def prefix(run: str, execution: ExecutionId, attempt: int) -> str:
    """What every name we make in a broker begins with: brokers a user runs see nothing else of ours.

    Different for every run and every attempt, so that what a killed runner left behind is never read by its successor.
    """
    when, _, rest = run.partition("-")
    return f"brokerlab-{rest.rsplit('-', 1)[-1]}-{when}-{execution}-a{attempt}"


def destination_names(run: str, cell: CellPlan, execution: ExecutionId, attempt: int) -> tuple[str, ...]:
    return tuple(f"{prefix(run, execution, attempt)}-d{i}" for i in range(cell.destinations))


def group_names(run: str, cell: CellPlan, execution: ExecutionId, attempt: int) -> tuple[str, ...]:
    return tuple(f"{prefix(run, execution, attempt)}-g{i + 1}" for i in range(cell.consumers.groups))


def run_tag(run: str, execution: ExecutionId, attempt: int) -> int:
    """32 bits that tell one execution's messages from another's."""
    return zlib.crc32(f"{run}/{execution.cell}/{execution.repeat}/{attempt}".encode())


def _spread(count: int, over: int) -> list[tuple[int, ...]]:
    """Numbers 0 .. count - 1 split into at most `over` parts, none of them empty."""
    over = max(1, min(over, count))
    return [tuple(range(i, count, over)) for i in range(over)]


def agent_plans(
    plan: RunPlan, cell: CellPlan, execution: ExecutionId, attempt: int, endpoint: Endpoint, evidence: Path
) -> tuple[list[AgentPlan], list[AgentPlan]]:
    """(producers, consumers). Consumer numbers go on over the groups; each agent serves one group."""
    shared = AgentPlan(
        run=plan.run,
        cell=cell.cell,
        repeat=execution.repeat,
        agent="",
        run_tag=run_tag(plan.run, execution, attempt),
        attempt=attempt,
        role=Role.PRODUCER,
        broker=cell.broker,
        driver=cell.driver,
        endpoint=endpoint,
        destinations=destination_names(plan.run, cell, execution, attempt),
        partitions=cell.partitions,
        members=(),
        producers_in_cell=cell.producers.count,
        group=None,
        producers=cell.producers,
        consumers=cell.consumers,
        phases=cell.phases,
        client_settings=cell.client_settings,
        durability=cell.durability,
        evidence_directory=str(evidence),
        seed=plan.seed,
        keep_messages=cell.keep_messages,
    )
    producers = [
        shared.model_copy(
            update={"agent": f"producer-{i + 1}", "members": members, "cores": cell.machine.producer_cores}
        )
        for i, members in enumerate(_spread(cell.producers.count, cell.producers.agents))
    ]
    consumers = []
    for g, group in enumerate(group_names(plan.run, cell, execution, attempt)):
        for i, members in enumerate(_spread(cell.consumers.per_group, cell.consumers.agents_per_group)):
            numbers = tuple(g * cell.consumers.per_group + m for m in members)
            name = f"consumer-g{g + 1}-{i + 1}"
            who = {"agent": name, "members": numbers, "role": Role.CONSUMER, "group": group}
            consumers.append(shared.model_copy(update={**who, "cores": cell.machine.consumer_cores}))
    return producers, consumers
