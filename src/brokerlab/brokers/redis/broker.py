"""The front doors: Redis and Valkey, each alone or replicated, and as a cluster."""

from __future__ import annotations

from pathlib import Path

from brokerlab.brokers.contract import Capabilities, TestHints
from brokerlab.brokers.kit.durability import ALL_LEVELS, ONE_NODE_LEVELS
from brokerlab.brokers.kit.front_door import FrontDoor, Parts
from brokerlab.brokers.kit.recipes import FromDebian
from brokerlab.brokers.redis.names import CLUSTERED, MASTERS


def _front_door(product: str, version: str, majors: tuple[int, ...], *, clustered: bool, quick: bool) -> FrontDoor:
    server = product.lower()
    levels = {3 * MASTERS: ALL_LEVELS} if clustered else {1: ONE_NODE_LEVELS, 3: ALL_LEVELS}
    return FrontDoor(
        name=server + (CLUSTERED if clustered else ""),
        product=f"{product} Streams" + (" (cluster)" if clustered else ""),
        runs=f"{product} 8: "
        + ("three masters with two replicas each" if clustered else "one master, or one with two replicas"),
        folder=__package__,
        capabilities=Capabilities(
            nodes=tuple(levels),
            durability_levels=levels,
            acknowledgement="the master has executed XADD; fsynced before with appendfsync always; with WAIT or WAITAOF replicas have it too",
            security=("tls", "password"),
            can_lose_a_node=tuple(nodes for nodes in levels if nodes > 1),
            delete_by_hand="redis-cli -u redis://{address} unlink {name}:00000 and so on, one for each partition",
        ),
        recipe=FromDebian(
            broker=server,
            version=version,
            server=server,
            program=f"{server}-server",  # Debian's redis-server is a link to redis-check-rdb, which looks at its own name
            packages=(f"{server}-server", f"{server}-tools"),
            lock_file=Path(__file__).with_name(f"{server}.lock"),
            majors=majors,
        ),
        parts=Parts.called(
            "Redis", lag=f"lag:{'Cluster' if clustered else 'Redis'}Lag", figures_at={"redis": ("", "{address}")}
        ),
        test_hints=TestHints(slow_to_start=clustered, taken_port_in_every_run=quick),
    )


REDIS = _front_door("Redis", "8.0.2", (8,), clustered=False, quick=True)
VALKEY = _front_door("Valkey", "8.1.1", (8, 9), clustered=False, quick=False)
REDIS_CLUSTER = _front_door("Redis", "8.0.2", (8,), clustered=True, quick=False)
VALKEY_CLUSTER = _front_door("Valkey", "8.1.1", (8, 9), clustered=True, quick=False)
