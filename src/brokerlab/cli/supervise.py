"""`python -m brokerlab.cli.supervise`: the process behind `brokerlab up`. One JSON line in; see processes.daemon."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from brokerlab.brokers.registry import broker_named
from brokerlab.model.plan import (
    CellPlan,
    ConsumersPlan,
    Durability,
    PayloadPlan,
    PhasesPlan,
    ProducersPlan,
    SchedulePlan,
    Security,
)
from brokerlab.processes.daemon import supervise

READY_WITHIN_S = 120.0


def cell_without_load(broker: str, nodes: int, durability: Durability, security: Security | None = None) -> CellPlan:
    """A cell that asks for a cluster and for no load."""
    return CellPlan(
        cell="c00",
        label=broker,
        broker=broker,
        nodes=nodes,
        durability=durability,
        destinations=1,
        partitions=1,
        producers=ProducersPlan(count=0, agents=0, schedule=SchedulePlan(), payload=PayloadPlan()),
        consumers=ConsumersPlan(groups=0, per_group=0, agents_per_group=0),
        phases=PhasesPlan(warm_up_s=0, measure_s=0, drain_limit_s=0),
        parameters={},
        broker_settings={},
        client_settings={},
        security=security,
    )


def main() -> int:
    plan = json.loads(sys.stdin.buffer.readline())
    name, nodes, durability = plan["broker"], plan["nodes"], plan["durability"]
    security = None if plan["security"] is None else Security.model_validate(plan["security"])
    cell = cell_without_load(name, nodes, Durability(durability), security)
    return supervise(
        Path(plan["directory"]),
        name,
        {"durability": durability},
        lambda data, logs: broker_named(name).cluster(cell, data, logs),
        READY_WITHIN_S,
    )


if __name__ == "__main__":
    sys.exit(main())
