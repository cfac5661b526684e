"""What a cell asks of its broker that the broker cannot do. Pairs of (path, message)."""

from __future__ import annotations

from collections.abc import Iterator

from brokerlab.brokers.contract import Broker
from brokerlab.model.plan import CellPlan
from brokerlab.workload.tree import SETTINGS, Path, Tree

Found = Iterator[tuple[Path, str]]


def capability_problems(cell: CellPlan, broker: Broker) -> Found:
    """From the broker's Capabilities alone."""
    yield from _of_cluster(cell, broker)
    can, name = broker.capabilities, broker.name
    if cell.partitions > 1 and not can.partitions:
        yield ("destinations", "partitions"), f"{name} has no partitions: only 1 is possible"
    consumers = cell.consumers
    if consumers.groups > 1 and not can.groups:
        yield ("consumers", "groups"), f"{name} delivers a message to one group only"
    if consumers.groups and consumers.per_group > 1 and not can.competing_consumers:
        yield ("consumers", "per_group"), f"{name} cannot share one group's messages among several consumers"
    if consumers.groups and consumers.start == "after_backlog" and not can.replay:
        yield ("consumers", "start"), f"{name} keeps nothing for consumers that come after the messages"
    if consumers.groups and consumers.acknowledge == "each" and not can.individual_acknowledgement:
        yield ("consumers", "acknowledge"), f"{name} cannot acknowledge messages one by one: use batch"


def _of_cluster(cell: CellPlan, broker: Broker) -> Found:
    levels = broker.capabilities.durability_levels
    if cell.endpoint:  # its nodes are the user's affair; the level is computed from what it says of itself
        possible = {level for of_nodes in levels.values() for level in of_nodes}
        if cell.durability not in possible:
            yield (
                ("durability",),
                f"{broker.name} never promises {cell.durability}: it has {', '.join(sorted(possible))}",
            )
        return
    if cell.nodes not in broker.capabilities.nodes:
        known = " or ".join(map(str, broker.capabilities.nodes))
        nodes = "node" if known == "1" else "nodes"
        yield ("cluster", "nodes"), f"{broker.name} runs with {known} {nodes} here"
        return
    here = levels.get(cell.nodes, ())
    if cell.durability not in here:
        nodes = "1 node" if cell.nodes == 1 else f"{cell.nodes} nodes"
        yield ("durability",), f"{broker.name} with {nodes} cannot give {cell.durability}: it has {', '.join(here)}"


def own_problems(cell: CellPlan, broker: Broker, tree: Tree) -> Found:
    """What the broker folder itself finds, at the setting it speaks of where that can be told."""
    for message in broker.problems(cell):
        path: Path = ("broker",) if tree.get(("brokers",)) is None else ("brokers",)
        for part in SETTINGS:
            named = [s for s in tree.get((part, broker.name)) or {} if s in message]
            if named and (part in message or path[0] not in SETTINGS):
                path = (part, broker.name, max(named, key=len))
        yield path, message
