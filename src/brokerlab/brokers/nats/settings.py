"""What a cell's settings mean for NATS: replicas, fsync, acknowledgement policy."""

from __future__ import annotations

import re
from dataclasses import dataclass

from brokerlab.brokers.contract import CellProblem, ComputedDurability
from brokerlab.brokers.kit.durability import level_of, wants_fsync, wants_replicas
from brokerlab.brokers.kit.setting_checks import looks_like, one_of, setting_problems, whole_number
from brokerlab.model.plan import CellPlan

# A stream stores and delivers in one thread, and stores all that waits, up to 10,000 messages, before it delivers all
# that was asked for. Who asks for fewer receives less than is published, however fast it is.
PULL_MESSAGES = 20_000
PULL_BYTES = 48 << 20  # a server hangs up on a client with 64 MiB unread
PENDING_BYTES = 1 << 20
_DURATION = r"(\d+)(ms|s|m|h)"
_NS = {"ms": 1_000_000, "s": 1_000_000_000, "m": 60_000_000_000, "h": 3_600_000_000_000}
SERVER = {
    "sync_interval": looks_like(f"always|{_DURATION}", "`always` or a duration such as 10s"),
    "replicas": one_of("1", "3", "5"),
    "storage": one_of("file", "memory"),
    "ack_wait": looks_like(_DURATION, "a duration such as 30s"),
    "ack_policy": one_of("explicit", "all"),
    "max_payload": looks_like(r"\d+(B|KB|MB)?", "a size such as 8MB"),
}
CLIENT = dict.fromkeys(("pull_messages", "pull_bytes", "pending_bytes"), whole_number())


@dataclass(frozen=True)
class NatsSettings:
    """One cell's settings, complete."""

    sync_interval: str | None  # None: the server's default, 2 minutes
    replicas: int
    storage: str
    ack_wait_ns: int
    ack_policy: str  # of groups: explicit, all or none
    max_payload: str


def settings_of(cell: CellPlan) -> NatsSettings:
    """Settings that give the cell's durability, then what the user set. Only for a cell without `problems`."""
    given = cell.broker_settings
    sync = given.get("sync_interval", "always" if wants_fsync(cell.durability) else None)
    replicas = given.get("replicas", str(cell.nodes) if wants_replicas(cell.durability) else "1")
    return NatsSettings(
        sync_interval=sync,
        replicas=int(replicas),
        storage=given.get("storage", "file"),
        ack_wait_ns=_duration_ns(given.get("ack_wait", "30s")),
        ack_policy=ack_policy_of(cell),
        max_payload=given.get("max_payload", "8MB"),
    )


def ack_policy_of(cell: CellPlan) -> str:
    """How groups acknowledge."""
    automatic = cell.consumers.acknowledge == "automatic"
    return "none" if automatic else cell.broker_settings.get("ack_policy", "explicit")


def _duration_ns(text: str) -> int:
    found = re.fullmatch(_DURATION, text)
    if found is None:
        raise ValueError(text)
    return int(found[1]) * _NS[found[2]]


def planned_durability(cell: CellPlan) -> ComputedDurability:
    """What the cell's settings must lead to; the truth is read back from the servers."""
    settings = settings_of(cell)
    always = settings.storage == "file" and settings.sync_interval == "always"
    sync = settings.sync_interval or "default"
    because = {"replicas": str(settings.replicas), "storage": settings.storage, "sync_interval": sync}
    return ComputedDurability(level_of(replicated=settings.replicas > 1, fsynced=always), because)


def problems(cell: CellPlan) -> list[CellProblem]:
    """Everything in the cell that NATS cannot do."""
    found = setting_problems(cell, SERVER, CLIENT)
    replicas = cell.broker_settings.get("replicas", "1")
    if replicas.isdecimal() and int(replicas) > cell.nodes:
        said = f"must be at most the {cell.nodes} nodes"
        found.append(CellProblem(("broker_settings", "replicas"), said, replicas))
    if len({of.acknowledge == "automatic" for of in cell.consumer_sets}) > 1:
        said = "must be automatic in all sets of consumers or in none: the groups of a stream are made alike"
        found.append(CellProblem(("consumers",), said))
    alone = all(of.per_group == 1 and of.acknowledge == "batch" for of in cell.consumer_sets)
    if ack_policy_of(cell) == "all" and not alone:
        why = (
            "acknowledges what other consumers of the group hold; it needs consumers.per_group 1 and acknowledge batch"
        )
        found.append(CellProblem(("broker_settings", "ack_policy"), f"'all' {why}"))
    return found
