"""What a cell asks of its broker that the broker cannot do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from brokerlab.brokers.contract import Broker, CellProblem
from brokerlab.model.plan import CellPlan, ConsumersPlan, FaultPlan
from brokerlab.workload.machine import disk_cap_problems
from brokerlab.workload.tree import SETTINGS, Path

FOLLOWER = "follower"
SECURITY_WORDS = {"tls": "TLS", "password": "a password"}

Found = Iterator[CellProblem]


def capability_problems(cell: CellPlan, broker: Broker) -> Found:
    """From the broker's Capabilities alone."""
    yield from _of_cluster(cell, broker)
    yield from _of_security(cell, broker)
    can, name = broker.capabilities, broker.name
    if cell.partitions > 1 and not can.partitions:
        yield CellProblem(("destinations", "partitions"), f"{name} has no partitions: only 1 is possible")
    yield from _of_faults(cell, broker)
    if cell.endpoint:
        yield from _of_nodes_elsewhere(cell, broker)
    yield from _of_links(cell, broker)
    yield from disk_cap_problems(cell)
    if cell.machine.fsync_floor_ns is not None and not can.fsync_floor:
        yield CellProblem(("cluster", "fsync_floor"), f"{name} is linked statically: nothing can be preloaded into it")
    if cell.groups > 1 and not can.groups:
        field = ("consumers",) if cell.more_consumers else ("consumers", "groups")
        yield CellProblem(field, f"{name} delivers a message to one group only")
    for number, consumers in enumerate((cell.consumers, *cell.more_consumers)):
        yield from _of_consumers(consumers, broker, ("consumers", number) if consumers.name else ("consumers",))


def _of_consumers(consumers: ConsumersPlan, broker: Broker, at: Path) -> Found:
    can, name = broker.capabilities, broker.name
    if consumers.groups and consumers.per_group > 1 and not can.competing_consumers:
        yield CellProblem((*at, "per_group"), f"{name} cannot share one group's messages among several consumers")
    if consumers.starts_late and not can.keeps_backlog:
        yield CellProblem((*at, "start"), f"{name} keeps no messages for a group whose consumers start later")
    if consumers.groups and consumers.acknowledge == "each" and not can.individual_acknowledgement:
        yield CellProblem((*at, "acknowledge"), f"{name} cannot acknowledge messages one by one: use batch")


def _of_cluster(cell: CellPlan, broker: Broker) -> Found:
    levels = broker.capabilities.durability_levels
    if cell.endpoint:  # the user chose its nodes; the level is computed from settings read back
        possible = {level for of_nodes in levels.values() for level in of_nodes}
        if cell.durability not in possible:
            has = ", ".join(sorted(possible))
            yield CellProblem(("durability",), f"{broker.name} does not offer {cell.durability}: it offers {has}")
        return
    if not broker.capabilities.nodes:
        yield CellProblem(("broker",), f"{broker.name} is not started here: give --endpoint for one you run")
        return
    if cell.nodes not in broker.capabilities.nodes:
        known = " or ".join(map(str, broker.capabilities.nodes))
        nodes = "node" if known == "1" else "nodes"
        yield CellProblem(("cluster", "nodes"), f"{broker.name} runs with {known} {nodes} here")
        return
    here = levels.get(cell.nodes, ())
    if cell.durability not in here:
        nodes = "1 node" if cell.nodes == 1 else f"{cell.nodes} nodes"
        yield CellProblem(
            ("durability",), f"{broker.name} does not offer {cell.durability} with {nodes}: it offers {', '.join(here)}"
        )


def _of_nodes_elsewhere(cell: CellPlan, broker: Broker) -> Found:
    said = f"{broker.name} is given with --endpoint: only nodes of a cluster started here can be held to it"
    if cell.machine.node_cores:
        yield CellProblem(("placement", "nodes"), said)
    if cell.machine.cpu_share_per_node is not None:
        yield CellProblem(("cluster", "cpu_share_per_node"), said)
    if cell.machine.disk_write_bytes_per_s is not None:
        yield CellProblem(("cluster", "disk_write_cap"), said)
    if cell.machine.fsync_floor_ns is not None:
        yield CellProblem(("cluster", "fsync_floor"), said)
    if cell.machine.memory_limit_bytes_per_node is not None:
        yield CellProblem(("cluster", "memory_limit_per_node"), said)
    if cell.machine.link_bytes_per_s is not None:
        yield CellProblem(("cluster", "link_cap"), said)
    if cell.machine.drop_page_cache:
        yield CellProblem(("consumers", "page_cache"), said)


def _of_links(cell: CellPlan, broker: Broker) -> Found:
    can = broker.capabilities.link_cap
    if cell.machine.link_bytes_per_s is None or cell.endpoint or cell.nodes in can:
        return
    with_nodes = f"with {cell.nodes} nodes " if can else ""
    said = f"clients of {broker.name} {with_nodes}find their way to the nodes beside a capped link: leave it out"
    yield CellProblem(("cluster", "link_cap"), said)


def _of_faults(cell: CellPlan, broker: Broker) -> Found:
    can, name = broker.capabilities.can_lose_a_node, broker.name
    if not cell.faults:
        return
    if cell.endpoint:
        said = f"{name} is given with --endpoint: only nodes of a cluster started here can be killed"
        yield CellProblem(("faults",), said)
        return
    if not broker.capabilities.can_restart_a_node and any(f.restart_after_s is not None for f in cell.faults):
        yield CellProblem(("faults",), f"{name} cannot start a killed node again here: leave restart_after out")
        return
    if cell.nodes == 1:
        yield from _of_one_node(cell, broker)
    elif not can:
        yield CellProblem(("faults",), f"{name} has no cluster here that can lose a node: leave faults out")
    elif cell.nodes not in can:
        known = " or ".join(map(str, can))
        yield CellProblem(("faults",), f"{name} with {cell.nodes} nodes cannot lose one: set cluster.nodes to {known}")
    elif (dead := _most_dead(cell.faults)) >= cell.nodes:
        yield CellProblem(("faults",), f"must leave a node alive: {dead} of {cell.nodes} nodes would be dead at once")


def _of_one_node(cell: CellPlan, broker: Broker) -> Found:
    """It can be killed where it is started again."""
    can, name = broker.capabilities, broker.name
    if any(fault.restart_after_s is None for fault in cell.faults):
        ways = ["set restart_after, to start it again"] if can.can_restart_a_node else []
        ways += [f"set cluster.nodes to {' or '.join(map(str, can.can_lose_a_node))}"] if can.can_lose_a_node else []
        ways = ways or ["leave faults out"]
        yield CellProblem(("faults",), f"{name} with 1 node cannot lose it for good: {', or '.join(ways)}")
    elif any(fault.target == FOLLOWER for fault in cell.faults):
        yield CellProblem(("faults",), f"{name} with 1 node has no follower: kill leader")
    elif _most_dead(cell.faults) > 1:
        yield CellProblem(("faults",), f"{name} has 1 node: it must be started again before it is killed again")


def _most_dead(faults: Sequence[FaultPlan]) -> int:
    """How many nodes are dead at once, at most: that is so at the moment of some kill. One that comes back at that moment
    counts, because either may be first."""
    return max(sum(of.at_s <= kill.at_s <= of.back_s for of in faults) for kill in faults)


def _of_security(cell: CellPlan, broker: Broker) -> Found:
    can = broker.capabilities.security
    missing = [what for what in cell.security.asks() if what not in can] if cell.security is not None else []
    if missing:
        has = " and ".join(SECURITY_WORDS[what] for what in can) if can else "neither TLS nor passwords"
        wanted = " and ".join(SECURITY_WORDS[what] for what in missing)
        yield CellProblem(("security",), f"{broker.name} does not support {wanted}: it has {has} here")


def own_problems(cell: CellPlan, broker: Broker) -> Found:
    """What the broker folder itself finds, at its place in a workload: settings stand there under the broker's name."""
    for problem in broker.problems(cell):
        if problem.field[0] in SETTINGS:
            yield replace(problem, field=(problem.field[0], broker.name, *problem.field[1:]))
        else:
            yield replace(problem, message=f"{broker.name}: {problem.message}")
