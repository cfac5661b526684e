"""What a cell's settings mean for Artemis, and what its destinations and groups are called there."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass

from brokerlab.brokers.contract import CellProblem, ComputedDurability
from brokerlab.brokers.kit.durability import level_of, wants_fsync
from brokerlab.brokers.kit.setting_checks import TRUE_OR_FALSE, looks_like, one_of, setting_problems, whole_number
from brokerlab.brokers.kit.stomp_settings import STOMP_CLIENT, stomp_settings
from brokerlab.model.plan import CellPlan

KIND, DATASYNC, SYNC = "journal-type", "journal-datasync", "journal-sync-non-transactional"
SERVER = {  # elements of broker.xml
    KIND: one_of("NIO", "ASYNCIO", "MAPPED"),
    **dict.fromkeys((DATASYNC, SYNC), TRUE_OR_FALSE),
    **dict.fromkeys(("journal-buffer-timeout", "journal-buffer-size", "journal-file-size"), whole_number()),
    **dict.fromkeys(("journal-min-files", "journal-pool-files", "journal-max-io"), whole_number()),
}
WINDOW = "consumer_window_bytes"  # of unacknowledged messages that a consumer may hold of each queue
CLIENT = {**STOMP_CLIENT, WINDOW: looks_like("-1|[0-9]+", "a whole number of bytes, or -1 for no limit")}
DEFAULT_GROUP = "default"  # where messages go when no group was asked for: an address without queues would keep none


@dataclass(frozen=True)
class QueueName:
    """A group's queue of one partition, and where it is. The broker copies what is sent to an address into all its queues."""

    group: str
    destination: str
    partition: int

    @property
    def address(self) -> str:
        return f"{self.destination}.{self.partition}"

    @property
    def queue(self) -> str:
        return f"{self.group}.{self.address}"

    def pair(self, pairs: int) -> int:
        """Which of so many pairs has it. By its name alone, so that everyone finds it there."""
        return (zlib.crc32(self.destination.encode()) + self.partition) % pairs


def server_settings(cell: CellPlan) -> dict[str, str]:
    datasync = "true" if wants_fsync(cell.durability) else "false"
    return {KIND: "NIO", DATASYNC: datasync, SYNC: "true", "journal-pool-files": "10", **cell.broker_settings}


def client_settings(given: Mapping[str, str]) -> dict[str, str]:
    return stomp_settings(given, **{WINDOW: str(1 << 20)})


def durability_of(settings: Mapping[str, str], persistent: str, replicated: str) -> ComputedDurability:
    """From what was planned, or from what was read back. A backup confirms before it has written: what an acknowledgement
    of a pair waits for is on the disk of one node at most."""
    stored = persistent == "true"
    second = stored and replicated == "true"
    fsynced = stored and not second and settings[DATASYNC] == settings[SYNC] == "true"
    journal = {name: settings[name] for name in (KIND, DATASYNC, SYNC)}
    because = {**journal, "persistent": persistent, "replicated": replicated}
    return ComputedDurability(level_of(replicated=second, fsynced=fsynced), because)


def planned_durability(cell: CellPlan) -> ComputedDurability:
    persistent = client_settings(cell.client_settings)["persistent"]
    return durability_of(server_settings(cell), persistent, "true" if cell.nodes > 1 else "false")


def problems(cell: CellPlan) -> list[CellProblem]:
    found = setting_problems(cell, SERVER, CLIENT)
    user = "" if cell.security is None else cell.security.user or ""
    if "," in user and not cell.endpoint:
        found.append(CellProblem(("security", "user"), "a server of ours takes no name with a comma in it", user))
    return found
