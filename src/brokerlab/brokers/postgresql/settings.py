"""What a cell's settings mean for PostgreSQL: commit, standbys, server and client values."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

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
        *_unknown(cell.broker_settings, NAMES, "broker_settings"),
        *_unknown(cell.client_settings, CLIENT_NAMES, "client_settings"),
        *_bad_server_values(cell),
        *_bad_client_values(cell.client_settings),
    ]
    if found:
        return found
    settings = settings_of(cell)
    if settings.level != cell.durability:
        found.append(
            f"durability: synchronous_commit {settings.synchronous_commit}, synchronous_standbys "
            f"{settings.synchronous_standbys}, fsync {settings.fsync} give {settings.level}, not {cell.durability}"
        )
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


def _unknown(given: Iterable[str], known: tuple[str, ...], what: str) -> list[str]:
    lines = []
    for name in given:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            said = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}"
            lines.append(f"{what}.{name}: no such setting; {said}")
    return lines


def _bad_server_values(cell: CellPlan) -> list[str]:
    lines = []
    for name, value in cell.broker_settings.items():
        if name in _CHOICES and value not in _CHOICES[name]:
            lines.append(f"broker_settings.{name}: must be one of {', '.join(_CHOICES[name])} (got {value!r})")
        elif name in _PLAIN and _PLAIN[name].fullmatch(value) is None:
            lines.append(f"broker_settings.{name}: must look like {_PLAIN[name].pattern} (got {value!r})")
    standbys = cell.broker_settings.get("synchronous_standbys", "0")
    if not standbys.isdecimal() or int(standbys) > cell.nodes - 1:
        lines.append(
            f"broker_settings.synchronous_standbys: must be a whole number up to the {cell.nodes - 1} standbys "
            f"(got {standbys!r})"
        )
    return lines


def _bad_client_values(given: Mapping[str, str]) -> list[str]:
    lines = []
    for name in ("in_flight", "batch_messages", "batch_bytes"):
        value = given.get(name, "1")
        if not (value.isdecimal() and int(value) > 0):
            lines.append(f"client_settings.{name}: must be a whole number above 0 (got {value!r})")
    for name in ("visibility_timeout", "poll_interval"):
        try:
            _microseconds(given.get(name, "1s"))
        except ValueError:
            lines.append(f"client_settings.{name}: must be a duration such as 30s or 2ms (got {given[name]!r})")
    return lines
