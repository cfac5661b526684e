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


def by_write_concern(asked: Mapping[str, str], members: int | None) -> ComputedDurability:
    """MongoDB: `members` of the replica set, 1 without one; None where they are not known yet."""
    replicated = asked["w"] != "1" and members != 1
    because = {**asked, **({} if members is None else {"members": str(members)})}
    return ComputedDurability(level_of(replicated=replicated, fsynced=asked["j"] == "true"), because)


def by_commit(reported: Mapping[str, str]) -> ComputedDurability:
    """FerretDB: it hands no write concern on, so that only PostgreSQL's own settings count. Nothing known: the weakest."""
    found, server = database.commit_durability(reported), "FerretDB, which ignores the write concern"
    server += "" if reported else "; the endpoint option postgresql tells more"
    return ComputedDurability(found.level, {"server": server, **found.because})


def planned_durability(cell: CellPlan) -> ComputedDurability:
    """What the cell's settings must lead to; the truth is read back. A server that is given by its address may be either."""
    concern = write_concern(cell.durability, cell.client_settings)
    if cell.endpoint:
        return by_write_concern(concern, None)
    return by_write_concern(concern, 1) if RECIPE.preferred() is not None else by_commit(database.server_settings(cell))


def problems(cell: CellPlan) -> list[CellProblem]:
    """Everything in the cell that neither server can do, or that the one at hand cannot."""
    if cell.endpoint:
        return setting_problems(cell, {}, CLIENT)
    if RECIPE.preferred() is None:
        return setting_problems(cell, POSTGRESQL, CLIENT) + database.user_problems(cell)
    said = "a mongod on PATH is started without security; give the address of one that has it with --endpoint"
    security = [] if cell.security is None else [CellProblem(("security",), said)]
    return setting_problems(cell, MONGOD, CLIENT) + security
