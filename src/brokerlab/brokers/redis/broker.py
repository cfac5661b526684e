"""The front doors: Redis and Valkey, each alone or replicated, and as a cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from brokerlab.brokers.contract import (
    Admin,
    BrokerProbe,
    Capabilities,
    Cluster,
    ComputedDurability,
    Consumer,
    Installation,
    NodeInfo,
    Producer,
    Progress,
)
from brokerlab.errors import InstallError
from brokerlab.model.plan import AgentPlan, CellPlan, Durability, Endpoint

MASTERS = 3  # of a cluster
_REPLICATED = (Durability.L1, Durability.L2, Durability.L3, Durability.L4)


def _capabilities(levels: dict[int, tuple[Durability, ...]]) -> Capabilities:
    return Capabilities(
        nodes=tuple(levels),
        durability_levels=levels,
        partitions=True,
        groups=True,
        competing_consumers=True,
        replay=True,
        individual_acknowledgement=True,
        redelivery=True,
        positions=True,
        acknowledgement="the master has executed XADD; fsynced before with appendfsync always; with WAIT or WAITAOF replicas have it too",
        security=("tls", "password"),
        can_lose_a_node=tuple(nodes for nodes in levels if nodes > 1),
    )


class RedisBroker:
    """See brokers.contract.Broker and PlansDurability."""

    kind: Literal["server", "calibration"] = "server"

    def __init__(self, product: str, version: str, clustered: bool) -> None:
        self.product = f"{product} Streams" + (" (cluster)" if clustered else "")
        self.version = version
        self._family = product
        self._clustered = clustered
        self.name = product.lower() + ("-cluster" if clustered else "")
        self.capabilities = _capabilities(
            {3 * MASTERS: _REPLICATED} if clustered else {1: (Durability.L3, Durability.L4), 3: _REPLICATED}
        )

    def installation(self) -> Installation:
        from brokerlab.brokers.redis.install import installation

        return installation(self._family, self.version)

    def install(self, progress: Progress) -> Installation:
        from brokerlab.brokers.redis.install import install

        return install(self._family, self.version, progress)

    def problems(self, cell: CellPlan) -> list[str]:
        from brokerlab.brokers.redis.settings import problems

        return problems(cell, self._replicas(cell))

    def planned_durability(self, cell: CellPlan) -> ComputedDurability:
        from brokerlab.brokers.redis.settings import level_of, settings_of, waiting_of

        settings, waiting = settings_of(cell), waiting_of(cell.durability, cell.client_settings)
        replicas = self._replicas(cell)
        level = level_of(waiting, replicas, settings.appendonly == "yes", settings.appendfsync)
        wait = "no" if waiting.command == "none" else f"{waiting.command} for {waiting.replicas} replicas"
        because = {"appendonly": settings.appendonly, "appendfsync": settings.appendfsync, "producers_wait": wait}
        return ComputedDurability(level, because | {"replicas_of_a_master": str(replicas)})

    def _replicas(self, cell: CellPlan) -> int:
        return cell.nodes // MASTERS - 1 if self._clustered else cell.nodes - 1

    def cluster(self, cell: CellPlan, directory: Path, logs: Path) -> Cluster:
        from brokerlab.brokers.redis.cluster import RedisCluster

        program = self.installation().location
        if program is None:
            raise InstallError(f"{self._family} is not installed", hint=f"brokerlab install {self.name}")
        return RedisCluster(cell, self._family, program, self._clustered, directory, logs)

    def admin(self, endpoint: Endpoint, cell: CellPlan) -> Admin:
        from brokerlab.brokers.redis.admin import RedisAdmin

        return RedisAdmin(endpoint, cell, self._clustered)

    def producer(self, plan: AgentPlan, number: int) -> Producer:
        from brokerlab.brokers.redis.producer import RedisProducer

        return RedisProducer(plan, number, self._clustered)

    def consumer(self, plan: AgentPlan, number: int) -> Consumer:
        from brokerlab.brokers.redis.consumer import RedisConsumer

        return RedisConsumer(plan, number, self._clustered)

    def probe(self, nodes: tuple[NodeInfo, ...]) -> BrokerProbe | None:
        from brokerlab.brokers.redis.probe import RedisProbe

        return RedisProbe(nodes)


REDIS = RedisBroker("Redis", "8.0.2", clustered=False)
VALKEY = RedisBroker("Valkey", "8.1.1", clustered=False)
REDIS_CLUSTER = RedisBroker("Redis", "8.0.2", clustered=True)
VALKEY_CLUSTER = RedisBroker("Valkey", "8.1.1", clustered=True)
