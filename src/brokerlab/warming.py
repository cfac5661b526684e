"""Load on a cluster that was just started, before anything is measured on it: a JVM takes a minute of load to be as fast as it gets.

It is no part of an execution's own warm-up, because a minute of load fills the page cache: the disk would then be busy in
the first execution on a cluster and in no other.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from brokerlab.brokers.registry import broker_named
from brokerlab.environment import clock_pair
from brokerlab.load.agents import Agents, Watch, agreed_start
from brokerlab.load.live import live_text
from brokerlab.load.plans import agent_plans, destination_names, group_names
from brokerlab.model.execution_id import ExecutionId
from brokerlab.model.plan import CellPlan, ConsumersPlan, Endpoint, PhasesPlan, RunPlan
from brokerlab.take_down import delete_destinations

ATTEMPT = 0  # those of the execution itself count from 1
LAST_S = 1.0  # a measure phase that nothing is measured in
FINISH_S = 60.0


def warm_up_cluster(
    plan: RunPlan,
    cell: CellPlan,
    execution: ExecutionId,
    endpoint: Endpoint,
    scratch: Path,
    watch: Watch,
    progress: Callable[[str], None],
) -> None:
    """The cell's own load for `first_warm_up_s`; its destinations and evidence, kept in `scratch` meanwhile, are deleted.
    Raises BrokerError or AgentError when a node or an agent fails; the destinations are then still there."""
    cell = _for_warming_up(cell)
    broker, where = broker_named(cell.broker), (plan.run, cell, execution, ATTEMPT)
    destinations, groups = destination_names(*where), group_names(*where)
    lines: dict[str, dict[str, Any]] = {}

    def live(agent: str, line: dict[str, Any]) -> None:
        lines[agent] = line
        progress(f"warming up the cluster: {live_text(lines)}")

    scratch.mkdir(parents=True)
    agents = Agents(scratch, watch, live)
    try:
        admin = broker.admin(endpoint, cell)
        try:
            admin.create(destinations, cell.partitions, groups)
        finally:
            admin.close()
        producers, consumers = agent_plans(plan, cell, execution, ATTEMPT, endpoint, scratch)
        agents.start([*consumers, *producers])
        agents.set_off([a.agent for a in (*consumers, *producers)], *agreed_start(clock_pair()))
        patience_s = cell.phases.warm_up_s + LAST_S + cell.producers.send_timeout_s + FINISH_S
        agents.wait_done([p.agent for p in producers], patience_s)
        agents.finish([c.agent for c in consumers])
        agents.wait_done([c.agent for c in consumers], FINISH_S)
    finally:
        agents.stop()
        shutil.rmtree(scratch, ignore_errors=True)
    delete_destinations(broker, endpoint, cell, destinations, groups)


def _for_warming_up(cell: CellPlan) -> CellPlan:
    """The cell's load without an end of its own, and with all consumers from the beginning."""
    phases = PhasesPlan(
        warm_up_s=cell.phases.first_warm_up_s or 0.0, measure_s=LAST_S, drain_limit_s=cell.phases.drain_limit_s
    )
    changed = {
        "phases": phases,
        "producers": cell.producers.model_copy(update={"messages": None}),
        "consumers": _tailing(cell.consumers),
        "more_consumers": tuple(map(_tailing, cell.more_consumers)),
        "keep_messages": False,
    }
    return cell.model_copy(update=changed)


def _tailing(consumers: ConsumersPlan) -> ConsumersPlan:
    """Those that read a backlog, too: the way to read is to be warm as well."""
    return consumers.model_copy(update={"start": "tailing", "start_after_s": None, "start_backlog_bytes": None})
