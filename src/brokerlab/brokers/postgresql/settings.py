"""What a cell's settings mean for PostgreSQL: commit, standbys, server and client values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from brokerlab.brokers.kit.setting_checks import not_above_zero, not_offered, other_durability, unknown_names
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

    @property
    def level(self) -> Durability:
        """What these settings must lead to; the truth is read back from the servers."""
        return level_of(self.synchronous_commit, self.synchronous_standbys > 0, self.fsync == "on")


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
    if synchronous_commit == "off":
        return Durability.L4
    if waits_for_standby and synchronous_commit != "local":
        return Durability.L1 if fsync and synchronous_commit in ("on", "remote_apply") else Durability.L2
    return Durability.L3 if fsync else Durability.L4


def settings_of(cell: CellPlan) -> ServerSettings:
    """Settings that give the cell's durability, then what the user set. Only for a cell without `problems`."""
    given = cell.broker_settings
    replicated = cell.durability in (Durability.L1, Durability.L2)
    commit = {Durability.L2: "remote_write", Durability.L4: "off"}.get(cell.durability, "on")
    others = DEFAULTS | {k: v for k, v in given.items() if k in _PLAIN or k in _CHOICES}
    return ServerSettings(
        synchronous_commit=given.get("synchronous_commit", commit),
        synchronous_standbys=int(given.get("synchronous_standbys", "1" if replicated else "0")),
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


def problems(cell: CellPlan) -> list[str]:
    """Everything in the cell that PostgreSQL cannot do."""
    found = [
        *unknown_names("broker_settings", cell.broker_settings, NAMES),
        *unknown_names("client_settings", cell.client_settings, CLIENT_NAMES),
        *_bad_server_values(cell),
        *_bad_client_values(cell.client_settings),
    ]
    if found:
        return found
    settings = settings_of(cell)
    because = (
        f"synchronous_commit {settings.synchronous_commit}, synchronous_standbys {settings.synchronous_standbys}, "
        f"fsync {settings.fsync}"
    )
    found += other_durability(cell, settings.level, because)
    if cell.security is not None and not cell.endpoint:
        found += _bad_security(cell.security)
    return found


def _bad_security(security: Security) -> list[str]:
    """What a server of ours cannot be started with."""
    lines = []
    if security.tls and security.password is None:
        lines.append("security: a server of ours that speaks TLS asks for a password too; give user and password")
    if set(security.user or "") & set("\"$'\\"):
        lines.append("security.user: PostgreSQL's first user may have none of \" $ ' \\ in the name")
    return lines


def _bad_server_values(cell: CellPlan) -> list[str]:
    lines = not_offered("broker_settings", cell.broker_settings, _CHOICES)
    for name, value in cell.broker_settings.items():
        if name in _PLAIN and _PLAIN[name].fullmatch(value) is None:
            lines.append(f"broker_settings.{name}: must look like {_PLAIN[name].pattern} (got {value!r})")
    standbys = cell.broker_settings.get("synchronous_standbys", "0")
    if not standbys.isdecimal() or int(standbys) > cell.nodes - 1:
        lines.append(
            f"broker_settings.synchronous_standbys: must be a whole number up to the {cell.nodes - 1} standbys "
            f"(got {standbys!r})"
        )
    return lines


def _bad_client_values(given: Mapping[str, str]) -> list[str]:
    lines = not_above_zero("client_settings", given, ("in_flight", "batch_messages", "batch_bytes"))
    for name in ("visibility_timeout", "poll_interval"):
        try:
            _microseconds(given.get(name, "1s"))
        except ValueError:
            lines.append(f"client_settings.{name}: must be a duration such as 30s or 2ms (got {given[name]!r})")
    return lines
