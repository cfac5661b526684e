"""What a cell's settings mean for Pulsar: quorums, journal, client."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from brokerlab.brokers.kit.setting_checks import (
    is_above_zero,
    not_above_zero,
    not_offered,
    not_true_or_false,
    other_durability,
    unknown_names,
)
from brokerlab.model.plan import CellPlan, Durability

TENANT = "public"
BOOKIES = 3  # of a cluster; its nodes are 3 bookies, 2 brokers and a ZooKeeper
_QUORUMS = ("ensemble", "write_quorum", "ack_quorum")
_SWITCHES = ("journalSyncData", "journalWriteData")
_JOURNAL_NUMBERS = ("journalMaxGroupWaitMSec", "journalPageCacheFlushIntervalMSec")
_BROKER_NUMBERS = ("managedLedgerCacheSizeMB", "managedLedgerMaxEntriesPerLedger", "maxMessageSize")
NAMES = (*_QUORUMS, *_SWITCHES, *_JOURNAL_NUMBERS, *_BROKER_NUMBERS)
CLIENT_DEFAULTS = {
    "batching_enabled": "true",
    "batching_max_messages": "1000",
    "batching_max_allowed_size_in_bytes": "131072",
    "batching_max_publish_delay_ms": "1",
    "receiver_queue_size": "1000",
    "compression_type": "NONE",
}
COMPRESSIONS = ("NONE", "LZ4", "ZLib", "ZSTD", "SNAPPY")
BATCH_MOST = 2047  # what a position has room for


@dataclass(frozen=True)
class PulsarSettings:
    """One cell's settings, complete."""

    ensemble: int
    write_quorum: int
    ack_quorum: int
    journal: dict[str, str]  # of the bookies
    broker: dict[str, str]  # of the brokers

    @property
    def syncs(self) -> bool:
        return syncs(self.journal)

    @property
    def level(self) -> Durability:
        """What these settings must lead to; the truth is read back from the servers."""
        return level_of(self.write_quorum, self.ack_quorum, self.syncs)


def syncs(journal: Mapping[str, str]) -> bool:
    """Whether a bookie with these settings answers only after an fsync. What is not told counts as no."""
    return all(journal.get(name) == "true" for name in _SWITCHES)


def level_of(write_quorum: int, ack_quorum: int, fsynced: bool) -> Durability:
    """An acknowledgement after one of several copies is no better than one copy."""
    if min(write_quorum, ack_quorum) > 1:
        return Durability.L1 if fsynced else Durability.L2
    return Durability.L3 if fsynced else Durability.L4


def namespace_of(level: Durability) -> str:
    """Quorums are a namespace's policy, so cells of different levels need different ones."""
    return f"{TENANT}/brokerlab-{level.lower()}"


def settings_of(cell: CellPlan) -> PulsarSettings:
    """Settings that give the cell's durability, then what the user set. Only for a cell without `problems`."""
    given = cell.broker_settings
    replicated = cell.durability in (Durability.L1, Durability.L2)
    fsynced = cell.durability in (Durability.L1, Durability.L3)
    copies, answers = (3, 2) if replicated else (1, 1)
    return PulsarSettings(
        ensemble=int(given.get("ensemble", copies)),
        write_quorum=int(given.get("write_quorum", copies)),
        ack_quorum=int(given.get("ack_quorum", answers)),
        # Always written: the distribution's standalone.conf has false, BookKeeper's own default is true.
        journal={
            "journalSyncData": "true" if fsynced else "false",
            "journalWriteData": "true",
            **{n: v for n, v in given.items() if n in (*_SWITCHES, *_JOURNAL_NUMBERS)},
        },
        broker={n: v for n, v in given.items() if n in _BROKER_NUMBERS},
    )


def client_settings_of(given: Mapping[str, str]) -> dict[str, str]:
    return CLIENT_DEFAULTS | dict(given)


def problems(cell: CellPlan) -> list[str]:
    """Everything in the cell that Pulsar cannot do."""
    found = [
        *unknown_names("broker_settings", cell.broker_settings, NAMES),
        *unknown_names("client_settings", cell.client_settings, CLIENT_DEFAULTS),
        *_bad_values(cell),
        *_bad_client_values(cell.client_settings),
    ]
    if cell.driver == "native":
        found.append("driver: Pulsar has no native path; use auto or python")
    if cell.security is not None and (cell.security.user is None) != (cell.security.password is None):
        found.append("security: a user needs a password and a password a user")
    if cell.security is not None and cell.security.user is not None and not (cell.security.tls or cell.endpoint):
        found.append("security: a Pulsar cluster of ours takes passwords over TLS only; set tls")
    if found:
        return found
    settings = settings_of(cell)
    bookies = BOOKIES if cell.nodes > 1 else 1
    if not settings.ack_quorum <= settings.write_quorum <= settings.ensemble:
        found.append("broker_settings: ack_quorum <= write_quorum <= ensemble must hold")
    elif settings.ensemble > bookies and not cell.endpoint:
        found.append(f"broker_settings.ensemble: at most the {bookies} bookies there are (got {settings.ensemble})")
    because = (
        f"write_quorum {settings.write_quorum}, ack_quorum {settings.ack_quorum}, journalSyncData "
        f"{settings.journal['journalSyncData']}, journalWriteData {settings.journal['journalWriteData']}"
    )
    return found + other_durability(cell, settings.level, because)


def _bad_values(cell: CellPlan) -> list[str]:
    given = cell.broker_settings
    return [
        *not_true_or_false("broker_settings", given, _SWITCHES),
        *not_above_zero("broker_settings", given, (*_QUORUMS, *_JOURNAL_NUMBERS, *_BROKER_NUMBERS)),
    ]


def _bad_client_values(given: Mapping[str, str]) -> list[str]:
    batch = "batching_max_messages"
    numbers = [name for name, default in CLIENT_DEFAULTS.items() if default.isdecimal() and name != batch]
    lines = [
        *not_offered("client_settings", given, {"compression_type": COMPRESSIONS}),
        *not_true_or_false("client_settings", given, ("batching_enabled",)),
        *not_above_zero("client_settings", given, numbers),
    ]
    most = given.get(batch, "1")
    if not (is_above_zero(most) and int(most) <= BATCH_MOST):
        lines.append(f"client_settings.{batch}: must be from 1 to {BATCH_MOST} (got {most!r})")
    return lines
