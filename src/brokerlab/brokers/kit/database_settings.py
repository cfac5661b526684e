"""Settings of queues in a database: what a commit of the servers waits for, how clients put messages together and lease
them, and who may be the first user."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from brokerlab.brokers.contract import CellProblem, ComputedDurability
from brokerlab.brokers.kit import durability
from brokerlab.brokers.kit.setting_checks import Known, looks_like, one_of, whole_number
from brokerlab.model.plan import CellPlan, Durability
from brokerlab.model.quantities import parse_duration_ns

_DURATION = looks_like(r"[1-9]\d*(us|ms|s|min)", "a duration such as 30s or 2ms")
SWITCH = one_of("on", "off")
SIZES: Known = {  # of a server
    "shared_buffers": looks_like(r"\d+(kB|MB|GB)", "a size such as 128MB"),
    "max_wal_size": looks_like(r"\d+(MB|GB)", "a size such as 4GB"),
}
_DEFAULTS = {"fsync": "on", "shared_buffers": "128MB", "max_wal_size": "4GB", "max_connections": "300"}


def server_settings(cell: CellPlan) -> dict[str, str]:
    """Settings that give the cell's durability, then what the user set."""
    commit = {Durability.L2: "remote_write", Durability.L4: "off"}.get(cell.durability, "on")
    return {"synchronous_commit": commit, **_DEFAULTS, **cell.broker_settings}


def commit_level(synchronous_commit: str, waits_for_standby: bool, fsync: bool) -> Durability:
    """The level by what a commit waits for."""
    replicated = waits_for_standby and synchronous_commit not in ("off", "local")
    # `remote_write` waits for a standby's memory only.
    flushed = synchronous_commit in ("on", "remote_apply") or (synchronous_commit != "off" and not replicated)
    return durability.level_of(replicated=replicated, fsynced=fsync and flushed)


def commit_durability(told: Mapping[str, str], *, waits_for_standby: bool = False) -> ComputedDurability:
    """From what was planned, or from what a server reports. Nothing known: the weakest."""
    because = {name: told.get(name, "unknown, counted as off") for name in ("synchronous_commit", "fsync")}
    level = commit_level(told.get("synchronous_commit", "off"), waits_for_standby, told.get("fsync") == "on")
    return ComputedDurability(level, because)


def lease_client(most_messages: int | None = None, most_bytes: int | None = None) -> Known:
    """The settings by name; `most_...` of one batch."""
    batches = {"batch_messages": whole_number(most_messages), "batch_bytes": whole_number(most_bytes)}
    return {**batches, "visibility_timeout": _DURATION, "poll_interval": _DURATION}


@dataclass(frozen=True)
class LeaseSettings:
    batch_messages: int  # that are published together, at most
    batch_bytes: int
    visibility_ns: int  # what was received and not acknowledged comes again after this long
    poll_ns: int  # longest pause between two questions of a consumer that finds nothing

    @classmethod
    def of(cls, given: Mapping[str, str]) -> Self:
        return cls(
            batch_messages=int(given.get("batch_messages", "1000")),
            batch_bytes=int(given.get("batch_bytes", str(1 << 20))),
            visibility_ns=round(parse_duration_ns(given.get("visibility_timeout", "30s"))),
            poll_ns=round(parse_duration_ns(given.get("poll_interval", "2ms"))),
        )


def user_problems(cell: CellPlan) -> list[CellProblem]:
    """Of the first user, who is made by initdb where the server is one of ours."""
    user = None if cell.endpoint or cell.security is None else cell.security.user
    if not set(user or "") & set("\"$'\\"):
        return []
    return [CellProblem(("security", "user"), "the database's first user may have none of \" $ ' \\ in the name")]
