"""What a cell's settings mean for Redis and Valkey: append-only file, fsync, and what producers wait for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from brokerlab.brokers.kit.setting_checks import not_above_zero, not_offered, other_durability, unknown_names
from brokerlab.model.plan import CellPlan, Durability

NAMES = ("appendonly", "appendfsync", "maxmemory")
CLIENT_NAMES = ("wait_replicas", "wait_timeout_ms", "pending_bytes", "read_messages", "claim_idle_ms")
CLIENT_DEFAULTS = {
    "wait_replicas": 1,  # with the master a majority of three
    "wait_timeout_ms": 10_000,
    "pending_bytes": 1 << 20,
    "read_messages": 1000,
    "claim_idle_ms": 30_000,
}
_CHOICES = {"appendonly": ("yes", "no"), "appendfsync": ("always", "everysec", "no")}
Wait = Literal["none", "WAIT", "WAITAOF"]


@dataclass(frozen=True)
class ServerSettings:
    """What a node's configuration file says."""

    appendonly: str
    appendfsync: str
    maxmemory: str

    @property
    def fsynced(self) -> bool:
        """`always` writes and fsyncs the file before any reply of that turn of the event loop leaves."""
        return self.appendonly == "yes" and self.appendfsync == "always"


@dataclass(frozen=True)
class Waiting:
    """What a producer asks for after its messages. Decided by the level, the same in every process."""

    command: Wait
    replicas: int
    timeout_ms: int


def settings_of(cell: CellPlan) -> ServerSettings:
    """Settings that give the cell's durability, then what the user set. Only for a cell without `problems`."""
    given = cell.broker_settings
    always = cell.durability in (Durability.L1, Durability.L3)
    return ServerSettings(
        appendonly=given.get("appendonly", "yes"),
        appendfsync=given.get("appendfsync", "always" if always else "everysec"),
        maxmemory=given.get("maxmemory", "0"),
    )


def waiting_of(durability: Durability, client_settings: Mapping[str, str]) -> Waiting:
    commands: dict[Durability, Wait] = {Durability.L1: "WAITAOF", Durability.L2: "WAIT"}
    replicas, timeout_ms = (client_number(client_settings, n) for n in ("wait_replicas", "wait_timeout_ms"))
    return Waiting(commands.get(durability, "none"), replicas, timeout_ms)


def client_number(client_settings: Mapping[str, str], name: str) -> int:
    return int(client_settings.get(name, CLIENT_DEFAULTS[name]))


def level_of(waiting: Waiting, replicas: int, appendonly: bool, appendfsync: str) -> Durability:
    """The level from what producers wait for, the fewest replicas a master has, and the weakest node's settings.

    WAITAOF answers only after the fsync, whatever `appendfsync` says; with `no` there never is one.
    """
    if waiting.command != "none" and replicas >= waiting.replicas >= 1:
        if waiting.command == "WAIT":
            return Durability.L2
        if appendonly and appendfsync != "no":
            return Durability.L1
    return Durability.L3 if appendonly and appendfsync == "always" else Durability.L4


def problems(cell: CellPlan, replicas_per_master: int) -> list[str]:
    """Everything in the cell that this broker cannot do."""
    found = [
        *unknown_names("broker_settings", cell.broker_settings, NAMES),
        *unknown_names("client_settings", cell.client_settings, CLIENT_NAMES),
        *_bad_values(cell, replicas_per_master),
    ]
    if found:
        return found
    settings = settings_of(cell)
    waiting = waiting_of(cell.durability, cell.client_settings)
    replicas = max(replicas_per_master, waiting.replicas) if cell.endpoint else replicas_per_master
    level = level_of(waiting, replicas, settings.appendonly == "yes", settings.appendfsync)
    if not cell.endpoint:
        because = (
            f"appendonly {settings.appendonly}, appendfsync {settings.appendfsync} with {replicas_per_master} replicas "
            "of a master"
        )
        found += other_durability(cell, level, because)
    security = cell.security
    if security is not None and security.user is not None and security.password is None:
        found.append("security.password: a user needs one")
    return found


def _bad_values(cell: CellPlan, replicas_per_master: int) -> list[str]:
    given = cell.broker_settings
    lines = not_offered("broker_settings", given, _CHOICES)
    memory = given.get("maxmemory", "0").lower()
    if not memory.removesuffix("b").rstrip("kmg").isdecimal():
        lines.append(f"broker_settings.maxmemory: must be a size such as 2gb (got {given['maxmemory']!r})")
    lines += not_above_zero("client_settings", cell.client_settings, CLIENT_NAMES)
    wanted = cell.client_settings.get("wait_replicas", "0")
    if wanted.isdecimal() and int(wanted) > replicas_per_master and not cell.endpoint:
        lines.append(f"client_settings.wait_replicas: a master has {replicas_per_master} replicas (got {wanted!r})")
    return lines
