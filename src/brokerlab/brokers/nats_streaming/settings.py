"""What a cell's settings mean for NATS Streaming."""

from __future__ import annotations

from brokerlab.brokers.contract import CellProblem, ComputedDurability
from brokerlab.brokers.kit import setting_checks as check
from brokerlab.brokers.kit.durability import level_of
from brokerlab.model.plan import CellPlan

SERVER = {
    "store": check.one_of("file", "memory"),
    "sync": check.TRUE_OR_FALSE,
    "max_payload": check.looks_like(r"\d+(B|KB|MB)?", "a size such as 8MB"),
}
# `sync`: fsync before an acknowledgement, of the file store of one node or of the Raft log of several
SERVER_DEFAULTS = {"store": "file", "sync": "false", "max_payload": "8MB"}
CLIENT = dict.fromkeys(("pending_bytes", "max_in_flight", "ack_wait_s"), check.whole_number(2**31 - 1))
CLIENT_DEFAULTS = {
    "pending_bytes": str(1 << 20),  # more unsent bytes than this and `send` takes fewer
    "max_in_flight": "2048",  # unacknowledged messages a consumer may hold of each channel
    "ack_wait_s": "30",  # what is not acknowledged after this comes again
}
server_settings, client_settings = check.filled(SERVER_DEFAULTS), check.filled_numbers(CLIENT_DEFAULTS)


def durability_of(clustered: int, store: str) -> ComputedDurability:
    """From how many servers of a Raft group there are, and where they store."""
    because = {"clustered servers": str(clustered), "store": store, "sync": "not reported; counted as false"}
    return ComputedDurability(level_of(replicated=clustered > 1, fsynced=False), because)


def planned_durability(cell: CellPlan) -> ComputedDurability:
    clustered = cell.nodes if cell.nodes > 1 else 0
    return durability_of(clustered, server_settings(cell.broker_settings)["store"])


def problems(cell: CellPlan) -> list[CellProblem]:
    return check.setting_problems(cell, SERVER, CLIENT) + check.not_with_an_endpoint(cell, SERVER)
