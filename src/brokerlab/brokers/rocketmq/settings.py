"""What a cell's settings mean for RocketMQ."""

from __future__ import annotations

from collections.abc import Mapping

from brokerlab.brokers.contract import CellProblem, ComputedDurability
from brokerlab.brokers.kit.durability import level_of, wants_fsync, wants_replicas
from brokerlab.brokers.kit.names import names
from brokerlab.brokers.kit.setting_checks import (
    TRUE_OR_FALSE,
    filled,
    looks_like,
    one_of,
    setting_problems,
    whole_number,
)
from brokerlab.model.plan import CellPlan

ROLE, FLUSH, COPIES, AUTOMATIC = "brokerRole", "flushDiskType", "inSyncReplicas", "enableAutoInSyncReplicas"
READ_BACK = (ROLE, FLUSH, COPIES, AUTOMATIC, "minInSyncReplicas")  # what a level follows from
OPEN_PORT = "allow_open_port"  # ours, not the broker's: its replication port may listen on all interfaces
NUMBERS = names(
    "maxTransferCountOnMessageInMemory maxTransferBytesOnMessageInMemory maxTransferCountOnMessageInDisk "
    "maxTransferBytesOnMessageInDisk sendMessageThreadPoolNums pullMessageThreadPoolNums mappedFileSizeCommitLog "
    "flushIntervalCommitLog maxMessageSize slaveTimeout syncFlushTimeout waitTimeMillsInSendQueue"
)
SERVER = {
    ROLE: one_of("SYNC_MASTER", "ASYNC_MASTER"),
    FLUSH: one_of("SYNC_FLUSH", "ASYNC_FLUSH"),
    COPIES: looks_like("[12]", "1 or 2"),
    "transientStorePoolEnable": TRUE_OR_FALSE,
    OPEN_PORT: TRUE_OR_FALSE,
    **dict.fromkeys(sorted(NUMBERS), whole_number()),
}
CLIENT_DEFAULTS = {
    "batch_messages": "1000",  # in one request; 1: each alone
    "batch_bytes": str(1 << 18),
    "pending_bytes": str(1 << 20),  # more unsent bytes than this and `send` takes fewer
    "pull_messages": "1000",  # asked for at once; a broker gives 32 unless its settings say otherwise
    "prefetch": "2000",  # messages of each queue that a consumer holds before it stops pulling
}
client_settings = filled(CLIENT_DEFAULTS)


def master_settings(cell: CellPlan) -> dict[str, str]:
    role, copies = ("SYNC_MASTER", "2") if wants_replicas(cell.durability) else ("ASYNC_MASTER", "1")
    given = {name: value for name, value in cell.broker_settings.items() if name != OPEN_PORT}
    return {
        ROLE: role,
        FLUSH: "SYNC_FLUSH" if wants_fsync(cell.durability) else "ASYNC_FLUSH",
        **dict.fromkeys((COPIES, "minInSyncReplicas"), copies),
        AUTOMATIC: "false",
        **given,
    }


def durability_of(settings: Mapping[str, str]) -> ComputedDurability:
    """From what was planned, or from what a master reports. SYNC_MASTER alone waits for no slave: `inSyncReplicas` counts
    the copies that an acknowledgement waits for, and where a broker may lower that, `minInSyncReplicas` does."""
    because = {name: settings.get(name, "unknown") for name in READ_BACK}
    counted = because["minInSyncReplicas" if because[AUTOMATIC] != "false" else COPIES]
    replicated = because[ROLE] == "SYNC_MASTER" and counted.isdecimal() and int(counted) > 1
    because |= {"the slave": "has written the message when it confirms, and fsyncs it later"} if replicated else {}
    fsynced = because[FLUSH] == "SYNC_FLUSH" and not replicated
    return ComputedDurability(level_of(replicated=replicated, fsynced=fsynced), because)


def planned_durability(cell: CellPlan) -> ComputedDurability:
    return durability_of(master_settings(cell))


def problems(cell: CellPlan) -> list[CellProblem]:
    return setting_problems(cell, SERVER, dict.fromkeys(CLIENT_DEFAULTS, whole_number()))
