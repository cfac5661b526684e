"""What a cell asks of its broker that the broker cannot do. Pairs of (path, message)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from brokerlab.brokers.contract import Broker
from brokerlab.model.plan import CellPlan
from brokerlab.workload.fields import Workload
from brokerlab.workload.tree import SETTINGS, Path, parse_path

_NAMED = re.compile(r"(?P<field>[a-z_]+)(?:\.(?P<rest>[^\s:]+))?: (?P<text>.*)", re.DOTALL)

SECURITY_WORDS = {"tls": "TLS", "password": "a password"}

Found = Iterator[tuple[Path, str]]


def capability_problems(cell: CellPlan, broker: Broker) -> Found:
    """From the broker's Capabilities alone."""
    yield from _of_cluster(cell, broker)
    yield from _of_security(cell, broker)
    can, name = broker.capabilities, broker.name
    if cell.partitions > 1 and not can.partitions:
        yield ("destinations", "partitions"), f"{name} has no partitions: only 1 is possible"
    yield from _of_faults(cell, broker)
    consumers = cell.consumers
    if consumers.groups > 1 and not can.groups:
        yield ("consumers", "groups"), f"{name} delivers a message to one group only"
    if consumers.groups and consumers.per_group > 1 and not can.competing_consumers:
        yield ("consumers", "per_group"), f"{name} cannot share one group's messages among several consumers"
    if consumers.groups and consumers.start == "after_backlog" and not can.replay:
        yield ("consumers", "start"), f"{name} does not keep messages for consumers that start later"
    if consumers.groups and consumers.acknowledge == "each" and not can.individual_acknowledgement:
        yield ("consumers", "acknowledge"), f"{name} cannot acknowledge messages one by one: use batch"


def _of_cluster(cell: CellPlan, broker: Broker) -> Found:
    levels = broker.capabilities.durability_levels
    if cell.endpoint:  # the user chose its nodes; the level is computed from settings read back
        possible = {level for of_nodes in levels.values() for level in of_nodes}
        if cell.durability not in possible:
            yield (
                ("durability",),
                f"{broker.name} does not offer {cell.durability}: it offers {', '.join(sorted(possible))}",
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
        yield (
            ("durability",),
            f"{broker.name} does not offer {cell.durability} with {nodes}: it offers {', '.join(here)}",
        )


def _of_faults(cell: CellPlan, broker: Broker) -> Found:
    can = broker.capabilities.can_lose_a_node
    if not cell.faults:
        return
    if cell.endpoint:
        yield ("faults",), f"{broker.name} is given with --endpoint: only nodes of a cluster started here can be killed"
    elif not can:
        yield ("faults",), f"{broker.name} has no cluster here that can lose a node: leave faults out"
    elif cell.nodes not in can:
        nodes = "1 node" if cell.nodes == 1 else f"{cell.nodes} nodes"
        known = " or ".join(map(str, can))
        yield ("faults",), f"{broker.name} with {nodes} cannot lose one: set cluster.nodes to {known}"
    elif len(cell.faults) >= cell.nodes:
        yield ("faults",), f"must leave a node alive: {len(cell.faults)} kills of {cell.nodes} nodes"


def _of_security(cell: CellPlan, broker: Broker) -> Found:
    can = broker.capabilities.security
    missing = [what for what in cell.security.asks() if what not in can] if cell.security is not None else []
    if missing:
        has = " and ".join(SECURITY_WORDS[what] for what in can) if can else "neither TLS nor passwords"
        wanted = " and ".join(SECURITY_WORDS[what] for what in missing)
        yield ("security",), f"{broker.name} does not support {wanted}: it has {has} here"


def own_problems(cell: CellPlan, broker: Broker) -> Found:
    """What the broker folder itself finds. It may begin with the field: `broker_settings.linger: ...`, `durability: ...`."""
    for message in broker.problems(cell):
        named = _NAMED.match(message)
        if named is None or named["field"] not in Workload.model_fields:
            first_word = message.partition(" ")[0]
            at = first_word if first_word in Workload.model_fields else "brokers"
            yield (at,), f"{broker.name}: {message}"
        elif named["field"] in SETTINGS:
            yield tuple(part for part in (named["field"], broker.name, named["rest"]) if part), named["text"]
        else:
            yield parse_path(message[: named.start("text") - 2]), f"{broker.name}: {named['text']}"
