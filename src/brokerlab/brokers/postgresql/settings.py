"""What a cell's settings mean for PostgreSQL: commit, standbys, server and client values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from brokerlab.brokers.contract import CellProblem, ComputedDurability
from brokerlab.brokers.kit import durability
from brokerlab.brokers.kit.durability import wants_replicas
from brokerlab.brokers.kit.setting_checks import not_above_zero, not_offered, unknown_names, wrong_value
from brokerlab.model.plan import CellPlan, Durability, Security

COMMIT = ("on", "off", "local", "remote_write", "remote_apply")
_CHOICES = {
    "synchronous_commit": COMMIT,
    "fsync": ("on", "off"),
    "full_page_writes": ("on", "off"),
    "autovacuum": ("on", "off"),
    "wal_compression": ("off", "on", "pglz"),
}
_PLAIN = {  # server setting -> what its value looks like
    "shared_buffers": re.compile(r"\d+(kB|MB|GB)"),
    "max_wal_size": re.compile(r"\d+(MB|GB)"),
    "wal_buffers": re.compile(r"-1|\d+(kB|MB)"),
    "checkpoint_timeout": re.compile(r"\d+(s|min)"),
    "autovacuum_naptime": re.compile(r"\d+(s|min)"),
    "commit_delay": re.compile(r"\d+"),
    "commit_siblings": re.compile(r"\d+"),
    "max_connections": re.compile(r"\d+"),
}
NAMES = (*_CHOICES, *_PLAIN, "synchronous_standbys")
CLIENT_NAMES = ("in_flight", "batch_messages", "batch_bytes", "visibility_timeout", "poll_interval")
DEFAULTS = {"shared_buffers": "128MB", "max_wal_size": "4GB", "max_connections": "300", "autovacuum_naptime": "10s"}
_DURATION = re.compile(r"(\d+)(us|ms|s|min)")
_US = {"us": 1, "ms": 1000, "s": 1_000_000, "min": 60_000_000}


@dataclass(frozen=True)
class ServerSettings:
    """One cell's settings of the servers, complete. `synchronous_standbys` 0: nobody waits for a standby."""

    synchronous_commit: str
    synchronous_standbys: int
    fsync: str
    others: dict[str, str]


@dataclass(frozen=True)
class ClientSettings:
    """How producers and consumers use their connections."""

    in_flight: int  # transactions a producer may have open
    batch_messages: int  # most messages of one transaction
    batch_bytes: int  # most bytes of one transaction
    visibility_us: int  # what was received and not acknowledged comes again after this long
    poll_us: int  # longest pause between two questions of a consumer that finds nothing


def level_of(synchronous_commit: str, waits_for_standby: bool, fsync: bool) -> Durability:
    """The level by what a commit waits for."""
    replicated = waits_for_standby and synchronous_commit not in ("off", "local")
    # `remote_write` waits for a standby's memory only.
    flushed = synchronous_commit in ("on", "remote_apply") or (synchronous_commit != "off" and not replicated)
    return durability.level_of(replicated=replicated, fsynced=fsync and flushed)


def settings_of(cell: CellPlan) -> ServerSettings:
    """Settings that give the cell's durability, then what the user set. Only for a cell without `problems`."""
    given = cell.broker_settings
    commit = {Durability.L2: "remote_write", Durability.L4: "off"}.get(cell.durability, "on")
    others = DEFAULTS | {k: v for k, v in given.items() if k in _PLAIN or k in _CHOICES}
    return ServerSettings(
        synchronous_commit=given.get("synchronous_commit", commit),
        synchronous_standbys=int(given.get("synchronous_standbys", "1" if wants_replicas(cell.durability) else "0")),
        fsync=given.get("fsync", "on"),
        others={k: v for k, v in others.items() if k not in ("synchronous_commit", "fsync")},
    )


def client_settings_of(given: Mapping[str, str]) -> ClientSettings:
    return ClientSettings(
        in_flight=int(given.get("in_flight", "2")),
        batch_messages=int(given.get("batch_messages", "1000")),
        batch_bytes=int(given.get("batch_bytes", str(1 << 20))),
        visibility_us=_microseconds(given.get("visibility_timeout", "30s")),
        poll_us=_microseconds(given.get("poll_interval", "2ms")),
    )


def _microseconds(text: str) -> int:
    found = _DURATION.fullmatch(text)
    if found is None or int(found[1]) == 0:
        raise ValueError(text)
    return int(found[1]) * _US[found[2]]


def planned_durability(cell: CellPlan) -> ComputedDurability:
    """What the cell's settings must lead to; the truth is read back from the servers."""
    settings = settings_of(cell)
    standbys = settings.synchronous_standbys
    because = {
        "synchronous_commit": settings.synchronous_commit,
        "synchronous_standbys": str(standbys),
        "fsync": settings.fsync,
    }
    return ComputedDurability(level_of(settings.synchronous_commit, standbys > 0, settings.fsync == "on"), because)


def problems(cell: CellPlan) -> list[CellProblem]:
    """Everything in the cell that PostgreSQL cannot do."""
    return [
        *unknown_names("broker_settings", cell.broker_settings, NAMES),
        *unknown_names("client_settings", cell.client_settings, CLIENT_NAMES),
        *_bad_server_values(cell),
        *_bad_client_values(cell.client_settings),
        *([] if cell.security is None or cell.endpoint else _bad_security(cell.security)),
    ]


def _bad_security(security: Security) -> list[CellProblem]:
    """What a server of ours cannot be started with."""
    found = []
    if security.tls and security.password is None:
        said = "a server of ours that speaks TLS asks for a password too; give user and password"
        found.append(CellProblem(("security",), said))
    if set(security.user or "") & set("\"$'\\"):
        said = "PostgreSQL's first user may have none of \" $ ' \\ in the name"
        found.append(CellProblem(("security", "user"), said))
    return found


def _bad_server_values(cell: CellPlan) -> list[CellProblem]:
    given = cell.broker_settings
    found = not_offered("broker_settings", given, _CHOICES)
    for name, value in given.items():
        if name in _PLAIN and _PLAIN[name].fullmatch(value) is None:
            found.append(wrong_value("broker_settings", given, name, f"must look like {_PLAIN[name].pattern}"))
    standbys = given.get("synchronous_standbys", "0")
    if not standbys.isdecimal() or int(standbys) > cell.nodes - 1:
        said = f"must be a whole number up to the {cell.nodes - 1} standbys"
        found.append(wrong_value("broker_settings", given, "synchronous_standbys", said))
    return found


def _bad_client_values(given: Mapping[str, str]) -> list[CellProblem]:
    found = not_above_zero("client_settings", given, ("in_flight", "batch_messages", "batch_bytes"))
    for name in ("visibility_timeout", "poll_interval"):
        try:
            _microseconds(given.get(name, "1s"))
        except ValueError:
            found.append(wrong_value("client_settings", given, name, "must be a duration such as 30s or 2ms"))
    return found
