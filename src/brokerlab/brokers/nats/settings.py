"""What a cell's settings mean for NATS: replicas, fsync, acknowledgement policy."""

from __future__ import annotations

import re
from dataclasses import dataclass

from brokerlab.brokers.kit.setting_checks import not_above_zero, not_offered, other_durability, unknown_names
from brokerlab.model.plan import CellPlan, Durability

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

    @property
    def level(self) -> Durability:
        """What these settings must lead to; the truth is read back from the servers."""
        return level_of(self.replicas, self.storage == "file" and self.sync_interval == "always")


def level_of(replicas: int, fsynced: bool) -> Durability:
    if replicas > 1:
        return Durability.L1 if fsynced else Durability.L2
    return Durability.L3 if fsynced else Durability.L4


def settings_of(cell: CellPlan) -> NatsSettings:
    """Settings that give the cell's durability, then what the user set. Only for a cell without `problems`."""
    given = cell.broker_settings
    wanted = cell.durability
    sync = given.get("sync_interval", "always" if wanted in (Durability.L1, Durability.L3) else None)
    replicas = given.get("replicas", str(cell.nodes) if wanted in (Durability.L1, Durability.L2) else "1")
    policy = "none" if cell.consumers.acknowledge == "automatic" else given.get("ack_policy", "explicit")
    return NatsSettings(
        sync_interval=sync,
        replicas=int(replicas),
        storage=given.get("storage", "file"),
        ack_wait_ns=_duration_ns(given.get("ack_wait", "30s")),
        ack_policy=policy,
        max_payload=given.get("max_payload", "8MB"),
    )


def _duration_ns(text: str) -> int:
    found = _DURATION.fullmatch(text)
    if found is None:
        raise ValueError(text)
    return int(found[1]) * _NS[found[2]]


def problems(cell: CellPlan) -> list[str]:
    """Everything in the cell that NATS cannot do."""
    found = [
        *unknown_names("broker_settings", cell.broker_settings, NAMES),
        *unknown_names("client_settings", cell.client_settings, CLIENT_NAMES),
        *_bad_values(cell),
    ]
    if found:
        return found
    settings = settings_of(cell)
    sync = settings.sync_interval or "default"
    because = f"replicas {settings.replicas}, storage {settings.storage}, sync_interval {sync}"
    found += other_durability(cell, settings.level, because)
    if settings.ack_policy == "all" and (cell.consumers.per_group > 1 or cell.consumers.acknowledge != "batch"):
        found.append(
            "broker_settings.ack_policy: 'all' acknowledges what other consumers of the group hold; "
            "it needs consumers.per_group 1 and acknowledge batch"
        )
    return found


def _bad_values(cell: CellPlan) -> list[str]:
    given = cell.broker_settings
    lines = not_offered("broker_settings", given, _CHOICES)
    sync = given.get("sync_interval", "always")
    if sync != "always" and _DURATION.fullmatch(sync) is None:
        lines.append(f"broker_settings.sync_interval: must be `always` or a duration such as 10s (got {sync!r})")
    if _DURATION.fullmatch(given.get("ack_wait", "30s")) is None:
        lines.append(f"broker_settings.ack_wait: must be a duration such as 30s (got {given['ack_wait']!r})")
    if _SIZE.fullmatch(given.get("max_payload", "8MB")) is None:
        lines.append(f"broker_settings.max_payload: must be a size such as 8MB (got {given['max_payload']!r})")
    replicas = given.get("replicas", "1")
    if replicas not in ("1", "3", "5") or int(replicas) > cell.nodes:
        lines.append(
            f"broker_settings.replicas: must be 1, 3 or 5 and at most the {cell.nodes} nodes (got {replicas!r})"
        )
    return lines + not_above_zero("client_settings", cell.client_settings, CLIENT_NAMES)
