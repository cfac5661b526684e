"""Redpanda's settings as pure functions: a durability level to a topic's settings, settings read back to a level, and
the names a workload may set."""

from __future__ import annotations

from collections.abc import Mapping

from brokerlab.brokers.contract import CellProblem, ComputedDurability
from brokerlab.brokers.kit.durability import level_of, wants_fsync, wants_replicas
from brokerlab.brokers.kit.names import names
from brokerlab.brokers.kit.setting_checks import ANYTHING, TRUE_OR_FALSE, Known, one_of, setting_problems, whole_number
from brokerlab.model.plan import CellPlan, Durability

REPLICATION = "replication.factor"
WRITE_CACHING = "write.caching"
# What a workload may set of a topic. Those of the cluster belong to who runs it.
TOPIC: Known = {
    **dict.fromkeys(
        names("""
            cleanup.policy compression.type flush.bytes flush.ms max.message.bytes message.timestamp.type retention.bytes
            retention.ms segment.bytes segment.ms
        """),
        ANYTHING,
    ),
    REPLICATION: whole_number(9),
    WRITE_CACHING: TRUE_OR_FALSE,
}
# Of librdkafka; the drivers' own names, such as bootstrap.servers, are not among them.
CLIENT: Known = {
    **dict.fromkeys(
        names("""
            batch.num.messages batch.size compression.codec compression.level compression.type enable.idempotence
            fetch.max.bytes fetch.message.max.bytes fetch.min.bytes fetch.queue.backoff.ms fetch.wait.max.ms
            heartbeat.interval.ms isolation.level linger.ms max.in.flight max.partition.fetch.bytes
            message.send.max.retries partition.assignment.strategy queue.buffering.max.ms queued.max.messages.kbytes
            queued.min.messages request.timeout.ms retries retry.backoff.ms session.timeout.ms socket.nagle.disable
            socket.timeout.ms
        """),
        ANYTHING,
    ),
    "acks": one_of("all", "-1", "1", "0"),
    "auto.commit.interval.ms": whole_number(86_400_000, " of milliseconds"),
    "sasl.mechanism": one_of("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"),
}
_DEVELOPER = "developer_mode, which may bypass fsync"


def acks_of(level: Durability, client_settings: Mapping[str, str]) -> str:
    """What producers ask for, as "all", "1" or "0". Kafka's drivers choose the same by the level."""
    given = client_settings.get("acks", "1" if level == Durability.L4 else "all")
    return "all" if given == "-1" else given


def replicas_of(cell: CellPlan) -> int:
    return int(cell.broker_settings.get(REPLICATION, "3" if wants_replicas(cell.durability) else "1"))


def topic_settings(cell: CellPlan, default: str | None) -> dict[str, str]:
    """Of every topic of a cell. `default` is the cluster's write caching where it is known: a topic that would have
    the same is not given a setting of its own."""
    own = {name: value for name, value in cell.broker_settings.items() if name != REPLICATION}
    caching = {} if write_caching({}, default) == _wanted_caching(cell) else {WRITE_CACHING: _wanted_caching(cell)}
    return {**caching, **own}


def _wanted_caching(cell: CellPlan) -> str:
    """An acknowledgement of the leader alone never waits for a disk, so there it does not matter."""
    level = "false" if wants_fsync(cell.durability) or cell.durability == Durability.L4 else "true"
    return cell.broker_settings.get(WRITE_CACHING, level)


def write_caching(topic: Mapping[str, str], default: str | None) -> str | None:
    """Of a topic, "true" or "false"; None where nothing tells. The cluster's default `disabled` overrules the topic."""
    if default == "disabled":
        return "false"
    return topic.get(WRITE_CACHING, default)


def computed_durability(acks: str, replicas: int, caching: str | None, developer: bool | None) -> ComputedDurability:
    """acks=all waits for a majority of the replicas, which have fsynced unless write caching is on. What is not known is
    counted as the weaker."""
    because = {
        "acks": acks,
        REPLICATION: str(replicas),
        WRITE_CACHING: caching or "unknown, counted as true; endpoint option admin",
        "mode": _DEVELOPER if developer else "production" if developer is False else "unknown; endpoint option admin",
    }
    waits = acks == "all"
    fsynced = waits and caching == "false" and not developer
    return ComputedDurability(level_of(replicated=waits and replicas >= 3, fsynced=fsynced), because)


def planned_durability(cell: CellPlan) -> ComputedDurability:
    """What the cell's settings must lead to; the truth is read back."""
    acks = acks_of(cell.durability, cell.client_settings)
    return computed_durability(acks, replicas_of(cell), _wanted_caching(cell), developer=False)


def problems(cell: CellPlan) -> list[CellProblem]:
    return setting_problems(cell, TOPIC, CLIENT)
