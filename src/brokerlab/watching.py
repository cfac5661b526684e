"""What is watched of an execution's processes, and what the machine was made to give them."""

from __future__ import annotations

import contextlib
from pathlib import Path

from brokerlab.brokers.contract import Cluster, HasLinks, LinkInfo
from brokerlab.clusters import Held
from brokerlab.load.agents import Agents
from brokerlab.machine.applied import applied_to_agent, applied_to_link, applied_to_node
from brokerlab.model.environment import ClockPair
from brokerlab.model.execution_id import ExecutionId
from brokerlab.model.plan import CellPlan, Endpoint
from brokerlab.probes.plan import ProbePlan, WatchedAgent, WatchedLink, WatchedNode

Settings = dict[str, dict[str, str]]


def links_of(cluster: Cluster | None) -> tuple[LinkInfo, ...]:
    return cluster.links() if isinstance(cluster, HasLinks) else ()


def applied(cell: CellPlan, cluster: Cluster | None, agents: Agents) -> Settings:
    """What each process is held to, read back from the kernel: subjects and settings as a broker's. Processes that have
    ended, and those that nothing was asked for, are left out."""
    found: Settings = {}
    for node in () if cluster is None else cluster.nodes():
        with contextlib.suppress(OSError):
            found[node.name] = applied_to_node(cell.machine, node.pid)
    for link in links_of(cluster):
        found[link.name] = applied_to_link(cell.machine)
    plans = agents.plans()
    for name, pid in agents.pids().items():
        with contextlib.suppress(OSError):
            found[name] = applied_to_agent(plans[name].cores, pid)
    return {f"machine: {name}": settings for name, settings in found.items() if settings}


def probe_plan(
    run: str,
    cell: CellPlan,
    execution: ExecutionId,
    held: Held | None,
    endpoint: Endpoint,
    agents: Agents,
    clock: ClockPair,
    directory: Path,
) -> ProbePlan:
    """Everything the probe process watches; `directory` receives its readings."""
    machine, plans = cell.machine, agents.plans()
    cluster = None if held is None else held.cluster
    nodes = () if cluster is None else cluster.nodes()
    return ProbePlan(
        run=run,
        cell=cell.cell,
        repeat=execution.repeat,
        broker=cell.broker,
        endpoint=endpoint,
        nodes=tuple(
            WatchedNode(
                name=n.name,
                pid=n.pid,
                urls=n.urls,
                cores=machine.node_cores,
                limited=machine.limits_cpu,
                memory_limited=machine.memory_limit_bytes_per_node is not None,
            )
            for n in nodes
        ),
        agents=tuple(WatchedAgent(name=n, pid=pid, cores=plans[n].cores) for n, pid in agents.pids().items()),
        links=tuple(WatchedLink(name=link.name, pid=link.pid, counts=link.counts) for link in links_of(cluster)),
        data_directory="" if held is None else str(held.data),
        directory=str(directory),
        clock=clock,
        addresses=cell.endpoint,
    )
