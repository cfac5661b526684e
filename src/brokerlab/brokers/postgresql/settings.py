"""What a cell's settings mean for PostgreSQL: commit, standbys, server and client values."""

from __future__ import annotations

from collections.abc import Mapping

from brokerlab.brokers.contract import CellProblem, ComputedDurability
from brokerlab.brokers.kit import database_settings as database
from brokerlab.brokers.kit.durability import wants_replicas
from brokerlab.brokers.kit.setting_checks import looks_like, one_of, setting_problems, whole_number
from brokerlab.model.plan import CellPlan

_SECONDS = looks_like(r"\d+(s|min)", "a duration such as 30s or 5min")
_NUMBER = looks_like(r"\d+", "a whole number")
STANDBYS = "synchronous_standbys"  # ours: how many a commit waits for; 0: none
SERVER = {
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
    "synchronous_commit": one_of("on", "off", "local", "remote_write", "remote_apply"),
    "fsync": database.SWITCH,
    STANDBYS: _NUMBER,
}
IN_FLIGHT = "in_flight"  # transactions that a producer may have open
CLIENT = {IN_FLIGHT: whole_number(), **database.lease_client()}


def settings_of(cell: CellPlan) -> dict[str, str]:
    """Of the servers, with STANDBYS. Only for a cell without `problems`."""
    standbys = "1" if wants_replicas(cell.durability) else "0"
    return {STANDBYS: standbys, "autovacuum_naptime": "10s", **database.server_settings(cell)}


def transactions_in_flight(given: Mapping[str, str]) -> int:
    return int(given.get(IN_FLIGHT, "2"))


def planned_durability(cell: CellPlan) -> ComputedDurability:
    """What the cell's settings must lead to; the truth is read back from the servers."""
    settings = settings_of(cell)
    found = database.commit_durability(settings, waits_for_standby=int(settings[STANDBYS]) > 0)
    return ComputedDurability(found.level, {**found.because, STANDBYS: settings[STANDBYS]})


def problems(cell: CellPlan) -> list[CellProblem]:
    """Everything in the cell that PostgreSQL cannot do."""
    found = setting_problems(cell, SERVER, CLIENT)
    standbys = cell.broker_settings.get(STANDBYS, "0")
    if standbys.isdecimal() and int(standbys) > cell.nodes - 1:
        said = f"must be a whole number up to the {cell.nodes - 1} standbys"
        found.append(CellProblem(("broker_settings", STANDBYS), said, standbys))
    security = cell.security
    if security is not None and security.tls and security.password is None and not cell.endpoint:
        said = "a server of ours that speaks TLS asks for a password too; give user and password"
        found.append(CellProblem(("security",), said))
    return found + database.user_problems(cell)
