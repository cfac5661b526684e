"""What a workload may set, and the level that follows from a server's options."""

from __future__ import annotations

from collections.abc import Mapping

from brokerlab.brokers.contract import CellProblem, ComputedDurability
from brokerlab.brokers.kit.durability import level_of
from brokerlab.brokers.kit.setting_checks import looks_like, one_of, setting_problems, whole_number
from brokerlab.model.plan import CellPlan
from brokerlab.model.quantities import parse_duration_ns

# Of the persistent subscriptions that we make; the servers' own options belong to who runs them.
BROKER = {
    "consumer_strategy": one_of("RoundRobin", "DispatchToSingle", "Pinned"),
    "message_timeout": looks_like(r"[1-9]\d*(ms|s|min)", "a duration such as 30s"),
    "max_retry_count": whole_number(),
    "live_buffer_size": whole_number(),
    "history_buffer_size": whole_number(),
    "read_batch_size": whole_number(),
}
CLIENT = {
    "batch_messages": whole_number(10_000),
    "batch_bytes": whole_number(1 << 20),  # more is refused: MaxAppendSize
    "event_buffer_size": whole_number(10_000),
}
_UNKNOWN = "unknown"


def client_settings(given: Mapping[str, str]) -> dict[str, int]:
    """`event_buffer_size`: events that a server sends before it waits for acknowledgements."""
    defaults = {"batch_messages": "500", "batch_bytes": "500000", "event_buffer_size": "500"}
    return {name: int(given.get(name, value)) for name, value in defaults.items()}


def subscription_settings(given: Mapping[str, str]) -> dict[str, str | int | float]:
    """Arguments of the library. A checkpoint soon after each acknowledgement: what remains is counted by it."""
    made: dict[str, str | int | float] = {
        "consumer_strategy": given.get("consumer_strategy", "RoundRobin"),
        "message_timeout": parse_duration_ns(given.get("message_timeout", "30s")) / 1e9,
        "min_checkpoint_count": 1,
        "checkpoint_after": 0.2,
    }
    numbers = ("max_retry_count", "live_buffer_size", "history_buffer_size", "read_batch_size")
    return made | {name: int(given[name]) for name in numbers if name in given}


def durability_of(options: Mapping[str, str], members: int) -> ComputedDurability:
    """By the server's options; `members` are those that the cluster's gossip names. Nothing known: the weakest."""
    size = int(options.get("ClusterSize", "1"))
    flush, memory = (options.get(name, _UNKNOWN).lower() for name in ("UnsafeDisableFlushToDisk", "MemDb"))
    because = {
        "ClusterSize": options.get("ClusterSize", _UNKNOWN),
        "members": str(members),
        "UnsafeDisableFlushToDisk": flush,
        "MemDb": memory,
    }
    if _UNKNOWN in because.values():
        because["unknown"] = "counted as the weaker; its HTTP API tells"
    replicated = size >= 3 and members >= 2
    return ComputedDurability(level_of(replicated=replicated, fsynced=flush == memory == "false"), because)


def planned_durability(cell: CellPlan) -> ComputedDurability:
    """Nothing in a workload changes it."""
    return ComputedDurability(cell.durability, {"server": "its own options decide, and are read back"})


def problems(cell: CellPlan) -> list[CellProblem]:
    found = setting_problems(cell, BROKER, CLIENT)
    security = cell.security
    if security is not None and security.password is not None and not security.tls:
        found.append(CellProblem(("security", "tls"), "must be true: gRPC sends a password over TLS only"))
    return found
