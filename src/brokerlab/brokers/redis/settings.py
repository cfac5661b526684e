"""What a cell's settings mean for Redis and Valkey: append-only file, fsync, and what producers wait for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from brokerlab.brokers.contract import CellProblem, ComputedDurability
from brokerlab.brokers.kit.durability import wants_fsync
from brokerlab.brokers.kit.setting_checks import looks_like, one_of, setting_problems, whole_number
from brokerlab.brokers.redis.names import replicas_of_a_master
from brokerlab.model.plan import CellPlan, Durability

CLIENT_DEFAULTS = {
    "wait_replicas": 1,  # with the master a majority of three
    "wait_timeout_ms": 10_000,
    "pending_bytes": 1 << 20,
    "read_messages": 1000,
    "claim_idle_ms": 30_000,
}
SERVER = {
    "appendonly": one_of("yes", "no"),
    "appendfsync": one_of("always", "everysec", "no"),
    "maxmemory": looks_like(r"(?i)\d+[kmg]*b?", "a size such as 2gb"),
}
Wait = Literal["none", "WAIT", "WAITAOF"]


@dataclass(frozen=True)
class ServerSettings:
    """What a node's configuration file says."""

    appendonly: str
    appendfsync: str
    maxmemory: str


@dataclass(frozen=True)
class Waiting:
    """What a producer asks for after its messages. Decided by the level, the same in every process."""

    command: Wait
    replicas: int
    timeout_ms: int

    @property
    def command_words(self) -> tuple[str | int, ...]:
        """What is sent behind the messages; nothing where nothing is waited for."""
        local = (1,) if self.command == "WAITAOF" else ()
        return () if self.command == "none" else (self.command, *local, self.replicas, self.timeout_ms)

    @property
    def words(self) -> str:
        return "no" if self.command == "none" else f"{self.command} for {self.replicas} replicas"


def settings_of(cell: CellPlan) -> ServerSettings:
    """Settings that give the cell's durability, then what the user set. Only for a cell without `problems`."""
    given = cell.broker_settings
    return ServerSettings(
        appendonly=given.get("appendonly", "yes"),
        appendfsync=given.get("appendfsync", "always" if wants_fsync(cell.durability) else "everysec"),
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


def planned_durability(cell: CellPlan) -> ComputedDurability:
    """What the cell's settings must lead to; the truth is read back from the servers. The settings of a server that the
    user runs are its own."""
    settings, waiting = settings_of(cell), waiting_of(cell.durability, cell.client_settings)
    replicas = replicas_of_a_master(cell.broker, cell.nodes)
    level = level_of(waiting, replicas, settings.appendonly == "yes", settings.appendfsync)
    because = {"appendonly": settings.appendonly, "appendfsync": settings.appendfsync, "producers_wait": waiting.words}
    return ComputedDurability(
        cell.durability if cell.endpoint else level, because | {"replicas_of_a_master": str(replicas)}
    )


def problems(cell: CellPlan) -> list[CellProblem]:
    """Everything in the cell that this broker cannot do."""
    found = setting_problems(cell, SERVER, dict.fromkeys(CLIENT_DEFAULTS, whole_number()))
    replicas = replicas_of_a_master(cell.broker, cell.nodes)
    wanted = cell.client_settings.get("wait_replicas", "0")
    if wanted.isdecimal() and int(wanted) > replicas and not cell.endpoint:
        said = f"must be at most the {replicas} replicas that a master has"
        found.append(CellProblem(("client_settings", "wait_replicas"), said, wanted))
    security = cell.security
    if security is not None and security.user is not None and security.password is None:
        found.append(CellProblem(("security", "password"), "a user needs one"))
    return found
