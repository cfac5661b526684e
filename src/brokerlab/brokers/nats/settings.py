"""What a cell's settings mean for NATS: replicas, fsync, acknowledgement policy."""

from __future__ import annotations

import re
from dataclasses import dataclass

from brokerlab.brokers.contract import CellProblem, ComputedDurability
from brokerlab.brokers.kit.durability import level_of, wants_fsync, wants_replicas
from brokerlab.brokers.kit.setting_checks import not_above_zero, not_offered, unknown_names, wrong_value
from brokerlab.model.plan import CellPlan

NAMES = ("sync_interval", "replicas", "storage", "ack_wait", "ack_policy", "max_payload")
CLIENT_NAMES = ("pull_messages", "pull_bytes", "pending_bytes")
# A stream stores and delivers in one thread, and stores all that waits, up to 10,000 messages, before it delivers all
# that was asked for. Who asks for fewer receives less than is published, however fast it is.
PULL_MESSAGES = 20_000
PULL_BYTES = 48 << 20  # a server hangs up on a client with 64 MiB unread
PENDING_BYTES = 1 << 20
_DURATION = re.compile(r"(\d+)(ms|s|m|h)")
_NS = {"ms": 1_000_000, "s": 1_000_000_000, "m": 60_000_000_000, "h": 3_600_000_000_000}
_CHOICES = {"storage": ("file", "memory"), "ack_policy": ("explicit", "all")}
_SIZE = re.compile(r"(\d+)(B|KB|MB)?")


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
    found = _DURATION.fullmatch(text)
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
    found = [
        *unknown_names("broker_settings", cell.broker_settings, NAMES),
        *unknown_names("client_settings", cell.client_settings, CLIENT_NAMES),
        *_bad_values(cell),
    ]
    consumers = cell.consumers
    alone = consumers.per_group == 1 and consumers.acknowledge == "batch"
    if ack_policy_of(cell) == "all" and not alone:
        why = (
            "acknowledges what other consumers of the group hold; it needs consumers.per_group 1 and acknowledge batch"
        )
        found.append(CellProblem(("broker_settings", "ack_policy"), f"'all' {why}"))
    return found


def _bad_values(cell: CellPlan) -> list[CellProblem]:
    given = cell.broker_settings
    found = not_offered("broker_settings", given, _CHOICES)
    sync = given.get("sync_interval", "always")
    patterns = {
        "ack_wait": (_DURATION, "must be a duration such as 30s"),
        "max_payload": (_SIZE, "must be a size such as 8MB"),
    }
    if sync != "always":
        patterns["sync_interval"] = (_DURATION, "must be `always` or a duration such as 10s")
    for name, (pattern, message) in patterns.items():
        if name in given and pattern.fullmatch(given[name]) is None:
            found.append(wrong_value("broker_settings", given, name, message))
    replicas = given.get("replicas", "1")
    if replicas not in ("1", "3", "5") or int(replicas) > cell.nodes:
        message = f"must be 1, 3 or 5 and at most the {cell.nodes} nodes"
        found.append(wrong_value("broker_settings", given, "replicas", message))
    return found + not_above_zero("client_settings", cell.client_settings, CLIENT_NAMES)
