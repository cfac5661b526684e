"""MongoDB's settings as pure functions: write concerns, what FerretDB's PostgreSQL waits for, and the levels of both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from brokerlab.brokers.contract import CellProblem, ComputedDurability
from brokerlab.brokers.kit.durability import level_of, wants_fsync, wants_replicas
from brokerlab.brokers.kit.setting_checks import TRUE_OR_FALSE, looks_like, one_of, setting_problems, whole_number
from brokerlab.brokers.mongodb.install import RECIPE
from brokerlab.model.plan import CellPlan, Durability
from brokerlab.model.quantities import parse_duration_ns

_DURATION = looks_like(r"[1-9]\d*(us|ms|s|min)", "a duration such as 30s or 2ms")
_SIZE = looks_like(r"\d+(MB|GB)", "a size such as 128MB")
POSTGRESQL = {  # of the server behind FerretDB
    "synchronous_commit": one_of("on", "off", "local"),
    "fsync": one_of("on", "off"),
    "shared_buffers": _SIZE,
    "max_wal_size": _SIZE,
}
MONGOD = {"wiredTigerCacheSizeGB": looks_like(r"\d+(\.\d+)?", "a number of gigabytes such as 0.5")}
CLIENT = {
    "w": looks_like("majority|[1-9]", "majority, or a number of members up to 9"),
    "j": TRUE_OR_FALSE,
    "batch_messages": whole_number(100_000),
    "batch_bytes": whole_number(40_000_000),
    "visibility_timeout": _DURATION,
    "poll_interval": _DURATION,
}
DEFAULTS = {"fsync": "on", "shared_buffers": "128MB", "max_wal_size": "4GB"}


@dataclass(frozen=True)
class ClientSettings:
    """How producers and consumers use their connections."""

    w: str  # members that must have a write: "majority" or a number
    j: bool  # whether it must be in their journals
    batch_messages: int
    batch_bytes: int
    visibility_ms: int  # what was received and not acknowledged comes again after this long
    poll_ns: int  # longest pause between two questions of a consumer that finds nothing

    @property
    def waits_for_others(self) -> bool:
        return self.w != "1"


def client_settings(level: Durability, given: Mapping[str, str]) -> ClientSettings:
    """The level's write concern, unless the client settings say otherwise."""
    return ClientSettings(
        w=given.get("w", "majority" if wants_replicas(level) else "1"),
        j=given.get("j", "true" if wants_fsync(level) else "false") == "true",
        batch_messages=int(given.get("batch_messages", "1000")),
        batch_bytes=int(given.get("batch_bytes", str(1 << 20))),
        visibility_ms=max(1, round(parse_duration_ns(given.get("visibility_timeout", "30s")) / 1e6)),
        poll_ns=round(parse_duration_ns(given.get("poll_interval", "2ms"))),
    )


def postgresql_settings(cell: CellPlan) -> dict[str, str]:
    """What goes into postgresql.conf: the level's, then the workload's own."""
    commit = "on" if wants_fsync(cell.durability) else "off"
    return {"synchronous_commit": commit, **DEFAULTS, **cell.broker_settings}


def by_write_concern(settings: ClientSettings, members: int | None) -> ComputedDurability:
    """MongoDB: `members` of the replica set, 1 without one; None where they are not known yet."""
    replicated = settings.waits_for_others and (members is None or members > 1)
    because = {"w": settings.w, "j": str(settings.j).lower()}
    if members is not None:
        because["members"] = str(members)
    return ComputedDurability(level_of(replicated=replicated, fsynced=settings.j), because)


def by_commit(reported: Mapping[str, str]) -> ComputedDurability:
    """FerretDB: it hands no write concern on, so that only PostgreSQL's own settings count. Nothing known: the weakest."""
    commit, fsync = reported.get("synchronous_commit"), reported.get("fsync")
    because = {
        "server": "FerretDB, which ignores the write concern",
        "synchronous_commit": commit or "unknown, counted as off; endpoint option postgresql",
        "fsync": fsync or "unknown, counted as off",
    }
    fsynced = commit not in (None, "off") and fsync == "on"
    return ComputedDurability(level_of(replicated=False, fsynced=fsynced), because)


def planned_durability(cell: CellPlan) -> ComputedDurability:
    """What the cell's settings must lead to; the truth is read back. A server that is given by its address may be either."""
    concern = client_settings(cell.durability, cell.client_settings)
    if cell.endpoint:
        return by_write_concern(concern, None)
    return by_write_concern(concern, 1) if RECIPE.preferred() is not None else by_commit(postgresql_settings(cell))


def problems(cell: CellPlan) -> list[CellProblem]:
    """Everything in the cell that neither server can do, or that the one at hand cannot."""
    if cell.endpoint:
        return setting_problems(cell, {}, CLIENT)
    mongod = RECIPE.preferred() is not None
    found = setting_problems(cell, MONGOD if mongod else POSTGRESQL, CLIENT)
    security = cell.security
    if security is not None and mongod:
        said = "a mongod on PATH is started without security; give the address of one that has it with --endpoint"
        found.append(CellProblem(("security",), said))
    elif security is not None and set(security.user or "") & set("\"$'\\"):
        said = "PostgreSQL's first user may have none of \" $ ' \\ in the name"
        found.append(CellProblem(("security", "user"), said))
    return found
