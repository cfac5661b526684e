"""MongoDB's settings as pure functions: write concerns, what FerretDB's PostgreSQL waits for, and the levels of both."""

from __future__ import annotations

from collections.abc import Mapping

from brokerlab.brokers.contract import CellProblem, ComputedDurability
from brokerlab.brokers.kit import database_settings as database
from brokerlab.brokers.kit.durability import level_of, wants_fsync, wants_replicas
from brokerlab.brokers.kit.setting_checks import TRUE_OR_FALSE, looks_like, one_of, setting_problems
from brokerlab.brokers.mongodb.install import RECIPE
from brokerlab.model.plan import CellPlan, Durability

# Of the server behind FerretDB.
POSTGRESQL = {"synchronous_commit": one_of("on", "off", "local"), "fsync": database.SWITCH, **database.SIZES}
MONGOD = {"wiredTigerCacheSizeGB": looks_like(r"\d+(\.\d+)?", "a number of gigabytes such as 0.5")}
CLIENT = {
    "w": looks_like("majority|[1-9]", "majority, or a number of members up to 9"),
    "j": TRUE_OR_FALSE,
    **database.lease_client(100_000, 40_000_000),
}


def write_concern(level: Durability, given: Mapping[str, str]) -> dict[str, str]:
    """What an acknowledgement is asked to wait for: `w` members have the write, `j` says whether in their journals. The
    level's, unless the client settings say otherwise."""
    w, j = "majority" if wants_replicas(level) else "1", "true" if wants_fsync(level) else "false"
    return {"w": given.get("w", w), "j": given.get("j", j)}


def postgresql_settings(cell: CellPlan) -> dict[str, str]:
    """What goes into postgresql.conf: the level's, then the workload's own."""
    commit = "on" if wants_fsync(cell.durability) else "off"
    return {"synchronous_commit": commit, "fsync": "on", **database.SERVER_DEFAULTS, **cell.broker_settings}


def by_write_concern(asked: Mapping[str, str], members: int | None) -> ComputedDurability:
    """MongoDB: `members` of the replica set, 1 without one; None where they are not known yet."""
    replicated = asked["w"] != "1" and members != 1
    because = {**asked, **({} if members is None else {"members": str(members)})}
    return ComputedDurability(level_of(replicated=replicated, fsynced=asked["j"] == "true"), because)


def by_commit(reported: Mapping[str, str]) -> ComputedDurability:
    """FerretDB: it hands no write concern on, so that only PostgreSQL's own settings count. Nothing known: the weakest."""
    commit, fsync = reported.get("synchronous_commit"), reported.get("fsync")
    because = {
        "server": "FerretDB, which ignores the write concern",
        "synchronous_commit": commit or "unknown, counted as off; endpoint option postgresql",
        "fsync": fsync or "unknown, counted as off",
    }
    level = database.commit_level(commit or "off", waits_for_standby=False, fsync=fsync == "on")
    return ComputedDurability(level, because)


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
    if cell.security is not None and mongod:
        said = "a mongod on PATH is started without security; give the address of one that has it with --endpoint"
        found.append(CellProblem(("security",), said))
    elif cell.security is not None:
        found += database.user_problems(cell.security)
    return found
