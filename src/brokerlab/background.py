"""Brokers in the background: started by `up`, asked by `status`, stopped by `down`.

`python -m brokerlab.background` is the process that holds such a broker: one JSON line in, see processes.daemon.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from brokerlab import lab
from brokerlab.brokers import registry
from brokerlab.brokers.contract import Broker
from brokerlab.errors import NotFoundError, UserError
from brokerlab.home import cache_directory
from brokerlab.model.listener import SILENT, RunListener
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
from brokerlab.processes import daemon

READY_WITHIN_S = 120.0

Status = dict[str, Any]  # what a supervisor answers; see processes.daemon


def up(
    broker: str,
    *,
    nodes: int | None = None,
    durability: str | None = None,
    security: Security | None = None,
    settings: Mapping[str, str] | None = None,
    listener: RunListener = SILENT,
) -> Status:
    """Start a broker on loopback that keeps running until `down`; installs it first where necessary.

    The defaults are the smallest cluster and the weakest durability it has; `settings` are broker_settings as in a workload.
    Returns the status, with `started`: False when
    it was up already, and then nothing is changed.
    """
    front = registry.broker_named(broker)
    already = status(broker)
    if already is not None:
        return {**already, "started": False}
    size, level = _size_and_level(front, nodes, durability)
    if security is not None and not set(security.asks()) <= set(front.capabilities.security):
        has = ", ".join(front.capabilities.security) or "neither TLS nor passwords"
        raise UserError(f"{broker} does not support {security.words()}", hint=f"it has {has} here")
    _check_settings(front, _cell_without_load(broker, size, Durability(level), security, settings or {}))
    if not front.installation().installed:
        lab.install(broker, listener=listener)
    listener.stage(f"starting {broker} ({size} node{'s' if size > 1 else ''}, {level})")
    plan = {
        "broker": broker,
        "nodes": size,
        "durability": level,
        "directory": str(_directory()),
        "security": security.model_dump() if security is not None else None,
        "settings": dict(settings or {}),
    }
    started = daemon.start(_directory(), broker, [sys.executable, "-m", "brokerlab.background"], plan)
    return {**started, "started": True}


def status(broker: str) -> Status | None:
    """What the supervisor of this broker answers; None when it is not up."""
    registry.broker_named(broker)
    return daemon.ask(_directory(), broker, "status")


def statuses() -> list[Status]:
    """Every broker that is up."""
    return [found for found in map(status, registry.BROKERS) if found is not None]


def down(broker: str) -> Status:
    """Stop a broker that is up and delete its data; returns its last status."""
    registry.broker_named(broker)
    answer = daemon.ask(_directory(), broker, "stop")
    if answer is None:
        raise NotFoundError(f"{broker} is not up", hint=f"brokerlab up {broker} starts it")
    return answer


def _directory() -> Path:
    return cache_directory() / "up"


def _size_and_level(broker: Broker, nodes: int | None, durability: str | None) -> tuple[int, str]:
    """Size and level, checked against what the broker can do."""
    can = broker.capabilities
    size = nodes if nodes is not None else min(can.nodes)
    if size not in can.nodes:
        known = ", ".join(map(str, can.nodes))
        raise UserError(f"{broker.name} does not run with {size} nodes here", hint=f"possible: {known}")
    levels = [str(level) for level in can.durability_levels[size]]
    level = durability.upper() if durability else max(levels)
    if level not in levels:
        where = f"{broker.name} with {size} node{'s' if size > 1 else ''}"
        raise UserError(f"{where} does not offer {level}", hint=f"possible: {', '.join(levels)}")
    return size, level


def _check_settings(broker: Broker, cell: CellPlan) -> None:
    """Raises UserError with everything that is wrong with the settings."""
    wrong = [p for p in broker.problems(cell) if p.field[0] == "broker_settings"] if cell.broker_settings else []
    if wrong:
        said = [f"{'.'.join(map(str, p.field[1:])) or 'settings'}: {p.message}" for p in wrong]
        near = next((f"did you mean {p.nearest}?" for p in wrong if p.nearest), None)
        raise UserError("\n".join(said), hint=near or f"the README of {broker.name} says what can be set")


def _cell_without_load(
    broker: str, nodes: int, durability: Durability, security: Security | None, settings: Mapping[str, str]
) -> CellPlan:
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
        broker_settings=dict(settings),
        client_settings={},
        security=security,
    )


def _supervise() -> int:
    plan = json.loads(sys.stdin.buffer.readline())
    name, nodes, durability = plan["broker"], plan["nodes"], plan["durability"]
    security = None if plan["security"] is None else Security.model_validate(plan["security"])
    cell = _cell_without_load(name, nodes, Durability(durability), security, plan.get("settings", {}))
    return daemon.supervise(
        Path(plan["directory"]),
        name,
        {"durability": durability},
        lambda data, logs: registry.broker_named(name).cluster(cell, data, logs),
        READY_WITHIN_S,
    )


if __name__ == "__main__":
    sys.exit(_supervise())
