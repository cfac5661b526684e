"""What a cell's settings mean for Pulsar: quorums, journal, client."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from brokerlab.brokers.contract import CellProblem, ComputedDurability
from brokerlab.brokers.kit import durability
from brokerlab.brokers.kit.durability import wants_fsync, wants_replicas
from brokerlab.brokers.kit.jvm_options import JVM_OPTIONS, JVM_SETTING
from brokerlab.brokers.kit.setting_checks import ANYTHING, TRUE_OR_FALSE, one_of, setting_problems, whole_number
from brokerlab.brokers.pulsar import tuning
from brokerlab.model.plan import CellPlan, Durability

TENANT = "public"
BOOKIES = 3  # of a cluster; its nodes are 3 bookies, 2 brokers and a ZooKeeper
_QUORUMS = ("ensemble", "write_quorum", "ack_quorum")
_SWITCHES = ("journalSyncData", "journalWriteData")
_ADVERTISED = "advertisedListeners"  # where clients are sent: a way to put something between them and the server
SERVER = {
    **dict.fromkeys(_QUORUMS, whole_number()),
    **tuning.JOURNAL,
    **tuning.BOOKIE,
    **tuning.BROKER,
    **dict.fromkeys(_SWITCHES, TRUE_OR_FALSE),
    _ADVERTISED: ANYTHING,
    JVM_SETTING: JVM_OPTIONS,
}
CLIENT_DEFAULTS = {
    "batching_enabled": "true",
    "batching_max_messages": "1000",
    "batching_max_allowed_size_in_bytes": "131072",
    "batching_max_publish_delay_ms": "1",
    "receiver_queue_size": "1000",
    "max_total_receiver_queue_size_across_partitions": "50000",
    "compression_type": "NONE",
}
BATCH_MOST = 2047  # what a position has room for
CLIENT = dict.fromkeys(CLIENT_DEFAULTS, whole_number()) | {
    "batching_enabled": TRUE_OR_FALSE,
    "batching_max_messages": whole_number(BATCH_MOST),
    "compression_type": one_of("NONE", "LZ4", "ZLib", "ZSTD", "SNAPPY"),
}


@dataclass(frozen=True)
class PulsarSettings:
    """One cell's settings, complete."""

    ensemble: int
    write_quorum: int
    ack_quorum: int
    journal: dict[str, str]  # of the bookies: what is always written, and what was set
    broker: dict[str, str]  # of the brokers
    bookie: dict[str, str] = field(default_factory=dict)  # of the bookies, what else was set

    @property
    def syncs(self) -> bool:
        return syncs(self.journal)

    @property
    def larger_caches_mb(self) -> tuple[int, int]:
        """By how much the caches of a bookie and of a broker are larger than ours: they need so much more memory."""
        bookie = sum(int(self.bookie.get(n, mb)) - mb for n, mb in tuning.BOOKIE_CACHES_MB.items())
        broker = int(self.broker.get(tuning.ENTRY_CACHE, tuning.ENTRY_CACHE_MB)) - tuning.ENTRY_CACHE_MB
        return max(bookie, 0), max(broker, 0)


def syncs(journal: Mapping[str, str]) -> bool:
    """Whether a bookie with these settings answers only after an fsync. A setting that is not known counts as no."""
    return all(journal.get(name) == "true" for name in _SWITCHES)


def level_of(write_quorum: int, ack_quorum: int, fsynced: bool) -> Durability:
    """An acknowledgement after one of several copies is no better than one copy."""
    return durability.level_of(replicated=min(write_quorum, ack_quorum) > 1, fsynced=fsynced)


def namespace_of(level: Durability) -> str:
    """Quorums are a namespace's policy, so cells of different levels need different ones."""
    return f"{TENANT}/brokerlab-{level.lower()}"


def settings_of(cell: CellPlan) -> PulsarSettings:
    """Settings that give the cell's durability, then what the user set. Only for a cell without `problems`."""
    given = cell.broker_settings
    replicated = wants_replicas(cell.durability)
    # With several bookies there are always three copies; at L3 and L4 one of them is enough for an answer.
    copies = BOOKIES if replicated or cell.nodes > 1 else 1
    answers = 2 if replicated else 1
    return PulsarSettings(
        ensemble=int(given.get("ensemble", copies)),
        write_quorum=int(given.get("write_quorum", copies)),
        ack_quorum=int(given.get("ack_quorum", answers)),
        # Always written: the distribution's standalone.conf has false, BookKeeper's own default is true.
        journal={
            "journalSyncData": "true" if wants_fsync(cell.durability) else "false",
            "journalWriteData": "true",
            **{n: v for n, v in given.items() if n in _SWITCHES or n in tuning.JOURNAL},
        },
        broker={n: v for n, v in given.items() if n in tuning.BROKER or n == _ADVERTISED},
        bookie={n: v for n, v in given.items() if n in tuning.BOOKIE},
    )


def client_settings_of(given: Mapping[str, str]) -> dict[str, str]:
    return CLIENT_DEFAULTS | dict(given)


def planned_durability(cell: CellPlan) -> ComputedDurability:
    """What the cell's settings must lead to; the truth is read back from the servers."""
    settings = settings_of(cell)
    quorums = {name: str(getattr(settings, name)) for name in _QUORUMS}
    level = level_of(settings.write_quorum, settings.ack_quorum, settings.syncs)
    return ComputedDurability(level, quorums | settings.journal)


def problems(cell: CellPlan) -> list[CellProblem]:
    """Everything in the cell that Pulsar cannot do."""
    found = [*setting_problems(cell, SERVER, CLIENT), *_bad_security(cell)]
    if _ADVERTISED in cell.broker_settings and cell.nodes > 1:
        found.append(CellProblem(("broker_settings", _ADVERTISED), f"one address cannot stand for {cell.nodes} nodes"))
    return found or _bad_quorums(cell)


def _bad_quorums(cell: CellPlan) -> list[CellProblem]:
    settings = settings_of(cell)
    bookies = BOOKIES if cell.nodes > 1 else 1
    if not settings.ack_quorum <= settings.write_quorum <= settings.ensemble:
        return [CellProblem(("broker_settings",), "ack_quorum <= write_quorum <= ensemble must hold")]
    if settings.ensemble > bookies and not cell.endpoint:
        said = f"must be at most the {bookies} bookies there are"
        return [CellProblem(("broker_settings", "ensemble"), said, str(settings.ensemble))]
    return []


def _bad_security(cell: CellPlan) -> list[CellProblem]:
    security = cell.security
    if security is None:
        return []
    if (security.user is None) != (security.password is None):
        return [CellProblem(("security",), "a user needs a password and a password a user")]
    if security.user is not None and not (security.tls or cell.endpoint):
        return [CellProblem(("security",), "a Pulsar cluster of ours takes passwords over TLS only; set tls")]
    return []
