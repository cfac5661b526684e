"""What a cell's settings mean for PostgreSQL: commit, standbys, server and client values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from brokerlab.brokers.contract import CellProblem, ComputedDurability
from brokerlab.brokers.kit import database_settings as database
from brokerlab.brokers.kit.durability import wants_replicas
from brokerlab.brokers.kit.setting_checks import looks_like, one_of, setting_problems, whole_number
from brokerlab.model.plan import CellPlan, Durability, Security

_SECONDS = looks_like(r"\d+(s|min)", "a duration such as 30s or 5min")
_NUMBER = looks_like(r"\d+", "a whole number")
OTHERS = {  # settings of the servers that durability does not depend on
    **database.SIZES,
    "full_page_writes": database.SWITCH,
    "autovacuum": database.SWITCH,
    "wal_compression": one_of("off", "on", "pglz"),
    "wal_buffers": looks_like(r"-1|\d+(kB|MB)", "-1 or a size such as 16MB"),
    "checkpoint_timeout": _SECONDS,
    "autovacuum_naptime": _SECONDS,
    "commit_delay": _NUMBER,
    "commit_siblings": _NUMBER,
    "max_connections": _NUMBER,
}
SERVER = OTHERS | {
    "synchronous_commit": one_of("on", "off", "local", "remote_write", "remote_apply"),
    "fsync": database.SWITCH,
    "synchronous_standbys": _NUMBER,
}
IN_FLIGHT = "in_flight"  # transactions that a producer may have open
CLIENT = {IN_FLIGHT: whole_number(), **database.lease_client()}
DEFAULTS = {**database.SERVER_DEFAULTS, "autovacuum_naptime": "10s"}


@dataclass(frozen=True)
class ServerSettings:
    """One cell's settings of the servers, complete. `synchronous_standbys` 0: commits wait for no standby."""

    synchronous_commit: str
    synchronous_standbys: int
    fsync: str
    others: dict[str, str]


def settings_of(cell: CellPlan) -> ServerSettings:
    """Settings that give the cell's durability, then what the user set. Only for a cell without `problems`."""
    given = cell.broker_settings
    commit = {Durability.L2: "remote_write", Durability.L4: "off"}.get(cell.durability, "on")
    return ServerSettings(
        synchronous_commit=given.get("synchronous_commit", commit),
        synchronous_standbys=int(given.get("synchronous_standbys", "1" if wants_replicas(cell.durability) else "0")),
        fsync=given.get("fsync", "on"),
        others=DEFAULTS | {name: value for name, value in given.items() if name in OTHERS},
    )


def transactions_in_flight(given: Mapping[str, str]) -> int:
    return int(given.get(IN_FLIGHT, "2"))


def planned_durability(cell: CellPlan) -> ComputedDurability:
    """What the cell's settings must lead to; the truth is read back from the servers."""
    settings = settings_of(cell)
    standbys = settings.synchronous_standbys
    because = {
        "synchronous_commit": settings.synchronous_commit,
        "synchronous_standbys": str(standbys),
        "fsync": settings.fsync,
    }
    return ComputedDurability(
        database.commit_level(settings.synchronous_commit, standbys > 0, settings.fsync == "on"), because
    )


def problems(cell: CellPlan) -> list[CellProblem]:
    """Everything in the cell that PostgreSQL cannot do."""
    found = setting_problems(cell, SERVER, CLIENT)
    standbys = cell.broker_settings.get("synchronous_standbys", "0")
    if standbys.isdecimal() and int(standbys) > cell.nodes - 1:
        said = f"must be a whole number up to the {cell.nodes - 1} standbys"
        found.append(CellProblem(("broker_settings", "synchronous_standbys"), said, standbys))
    return found + ([] if cell.security is None or cell.endpoint else _bad_security(cell.security))


def _bad_security(security: Security) -> list[CellProblem]:
    """What a server of ours cannot be started with."""
    found = []
    if security.tls and security.password is None:
        said = "a server of ours that speaks TLS asks for a password too; give user and password"
        found.append(CellProblem(("security",), said))
    return found + database.user_problems(security)
