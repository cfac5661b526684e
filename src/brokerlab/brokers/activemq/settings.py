"""What a cell's settings mean for ActiveMQ, and what its destinations and groups are called there."""

from __future__ import annotations

from collections.abc import Mapping

from brokerlab.brokers.contract import CellProblem, ComputedDurability
from brokerlab.brokers.kit.durability import level_of, wants_fsync
from brokerlab.brokers.kit.setting_checks import TRUE_OR_FALSE, one_of, setting_problems, whole_number
from brokerlab.brokers.kit.stomp_settings import STOMP_CLIENT, stomp_settings
from brokerlab.model.plan import CellPlan

STRATEGY = "journalDiskSyncStrategy"
_NUMBERS = ("journalDiskSyncInterval", "journalMaxFileLength", "checkpointInterval", "indexCacheSize")
SERVER = {  # attributes of KahaDB
    STRATEGY: one_of("always", "periodic", "never"),
    **dict.fromkeys(_NUMBERS, whole_number()),
    "concurrentStoreAndDispatchQueues": TRUE_OR_FALSE,
}
CLIENT = {**STOMP_CLIENT, "prefetch": whole_number()}
PREFETCH = "2000"  # unacknowledged messages a consumer may hold of each queue
DEFAULT_GROUP = "default"  # where messages go when no group was asked for: nothing is lost meanwhile


def topic_name(destination: str, partition: int) -> str:
    return f"VirtualTopic.{destination}.{partition}"


def queue_name(group: str, destination: str, partition: int) -> str:
    """The broker copies a virtual topic's messages into every queue that is called so."""
    return f"Consumer.{group}.{topic_name(destination, partition)}"


def store_settings(cell: CellPlan) -> dict[str, str]:
    return {STRATEGY: "always" if wants_fsync(cell.durability) else "periodic", **cell.broker_settings}


def client_settings(given: Mapping[str, str]) -> dict[str, str]:
    return stomp_settings(given, prefetch=PREFETCH)


def durability_of(strategy: str, persistent: str) -> ComputedDurability:
    """From what was planned, or from what was read back."""
    fsynced = strategy.lower() == "always" and persistent == "true"
    because = {STRATEGY: strategy, "persistent": persistent}
    return ComputedDurability(level_of(replicated=False, fsynced=fsynced), because)


def planned_durability(cell: CellPlan) -> ComputedDurability:
    return durability_of(store_settings(cell)[STRATEGY], client_settings(cell.client_settings)["persistent"])


def problems(cell: CellPlan) -> list[CellProblem]:
    return setting_problems(cell, SERVER, CLIENT)
