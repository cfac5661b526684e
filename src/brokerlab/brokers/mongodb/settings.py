"""MongoDB's settings as pure functions: write concerns, what FerretDB's PostgreSQL waits for, and the levels of both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from brokerlab.brokers.contract import CellProblem, ComputedDurability
from brokerlab.brokers.kit.database_settings import lease_client, user_problems
from brokerlab.brokers.kit.durability import level_of, wants_fsync, wants_replicas
from brokerlab.brokers.kit.setting_checks import TRUE_OR_FALSE, looks_like, one_of, setting_problems
from brokerlab.brokers.mongodb.install import RECIPE
from brokerlab.model.plan import CellPlan, Durability

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
    **lease_client(100_000, 40_000_000),
}
DEFAULTS = {"fsync": "on", "shared_buffers": "128MB", "max_wal_size": "4GB"}


@dataclass(frozen=True)
class WriteConcern:
    """What an acknowledgement is asked to wait for."""

    w: str  # members that must have a write: "majority" or a number
    j: bool  # whether it must be in their journals

    @property
    def waits_for_others(self) -> bool:
        return self.w != "1"


def write_concern(level: Durability, given: Mapping[str, str]) -> WriteConcern:
    """The level's, unless the client settings say otherwise."""
    return WriteConcern(
        w=given.get("w", "majority" if wants_replicas(level) else "1"),
        j=given.get("j", "true" if wants_fsync(level) else "false") == "true",
    )


def postgresql_settings(cell: CellPlan) -> dict[str, str]:
    """What goes into postgresql.conf: the level's, then the workload's own."""
    commit = "on" if wants_fsync(cell.durability) else "off"
    return {"synchronous_commit": commit, **DEFAULTS, **cell.broker_settings}


def by_write_concern(asked: WriteConcern, members: int | None) -> ComputedDurability:
    """MongoDB: `members` of the replica set, 1 without one; None where they are not known yet."""
    replicated = asked.waits_for_others and (members is None or members > 1)
    because = {"w": asked.w, "j": str(asked.j).lower()}
    if members is not None:
        because["members"] = str(members)
    return ComputedDurability(level_of(replicated=replicated, fsynced=asked.j), because)


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
    concern = write_concern(cell.durability, cell.client_settings)
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
    elif security is not None:
        found += user_problems(security)
    return found
