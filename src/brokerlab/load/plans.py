"""From a cell to the plans of its agents."""

from __future__ import annotations

import zlib
from pathlib import Path

from brokerlab.model.execution_id import ExecutionId
from brokerlab.model.plan import AgentPlan, CellPlan, ConsumersPlan, Endpoint, Role, RunPlan


def prefix(run: str, execution: ExecutionId, attempt: int) -> str:
    """What every name we make in a broker begins with: brokers a user runs see nothing else of ours.

    Different for every run and every attempt, so that what a killed runner left behind is never read by its successor.
    """
    when, _, rest = run.partition("-")
    return f"brokerlab-{rest.rsplit('-', 1)[-1]}-{when}-{execution}-a{attempt}"


def destination_names(run: str, cell: CellPlan, execution: ExecutionId, attempt: int) -> tuple[str, ...]:
    return tuple(f"{prefix(run, execution, attempt)}-d{i}" for i in range(cell.destinations))


def group_names(run: str, cell: CellPlan, execution: ExecutionId, attempt: int) -> tuple[str, ...]:
    """Of all sets, one after the other."""
    before = prefix(run, execution, attempt)
    return tuple(f"{before}-{group}" for of in cell.consumer_sets for group in of.group_names())


def run_tag(run: str, execution: ExecutionId, attempt: int) -> int:
    """32 bits that tell one execution's messages from another's."""
    return zlib.crc32(f"{run}/{execution.cell}/{execution.repeat}/{attempt}".encode())


def _spread(count: int, over: int) -> list[tuple[int, ...]]:
    """Numbers 0 .. count - 1 split into at most `over` parts, none of them empty."""
    over = max(1, min(over, count))
    return [tuple(range(i, count, over)) for i in range(over)]


def _hosted(of: ConsumersPlan) -> list[tuple[str, list[tuple[int, int]]]]:
    """The agents of a set by name, each with its consumers: (group, place in it)."""
    if of.agents is not None:
        before = f"consumer-{of.name}_groups" if of.name else "consumer-groups"
        shares = enumerate(_spread(of.groups, of.agents), 1)
        return [(f"{before}-{i}", [(g, m) for g in mine for m in range(of.per_group)]) for i, mine in shares]
    spread = list(enumerate(_spread(of.per_group, of.agents_per_group), 1))
    names = of.group_names()
    return [(f"consumer-{name}-{i}", [(g, m) for m in mine]) for g, name in enumerate(names) for i, mine in spread]


def agent_plans(
    plan: RunPlan, cell: CellPlan, execution: ExecutionId, attempt: int, endpoint: Endpoint, evidence: Path
) -> tuple[list[AgentPlan], list[AgentPlan]]:
    """(producers, consumers). Consumer numbers go on over sets and groups; each agent serves one group, or
    several where `agents` says so."""
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
        outage_s=max((fault.outage_s for fault in cell.faults), default=0.0),
    )
    producers = [
        shared.model_copy(
            update={"agent": f"producer-{i + 1}", "members": members, "cores": cell.machine.producer_cores}
        )
        for i, members in enumerate(_spread(cell.producers.count, cell.producers.agents))
    ]
    consumers = []
    before = prefix(plan.run, execution, attempt)
    first = 0  # number of the set's first consumer: drivers take a number modulo per_group for the place in a group
    for of in cell.consumer_sets:
        first = -(-first // of.per_group) * of.per_group
        for name, members in _hosted(of):
            groups = [f"{before}-{of.group_names()[g]}" for g, _ in members]
            who: dict[str, object] = {"agent": name, "members": tuple(first + g * of.per_group + m for g, m in members)}
            who |= {
                "role": Role.CONSUMER,
                "group": groups[0],
                "groups": tuple(groups) if of.agents else (),
                "consumers": of,
            }
            consumers.append(shared.model_copy(update={**who, "cores": cell.machine.consumer_cores}))
        first += of.groups * of.per_group
    return producers, consumers
