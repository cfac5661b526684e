"""Three nodes at L4 without a journal: three copies, one of which answers, and no write waits for a sync."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from contract_load import cell_for, receive
from contract_servers import Running, running_server

from brokerlab.brokers.pulsar.admin import bookie_settings
from brokerlab.brokers.pulsar.broker import BROKER
from brokerlab.brokers.pulsar.probe import sync_count
from brokerlab.model.blocks import ACKNOWLEDGED
from brokerlab.model.plan import Durability

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]
TUNED = {
    "journalWriteData": "false",
    "dbStorage_writeCacheMaxSizeMb": "64",
    "managedLedgerNewEntriesCheckDelayInMillis": "0",
    "bookkeeperNumberOfChannelsPerBookie": "64",
}
CELL = cell_for("pulsar", 3, Durability.L4, broker_settings=TUNED, partitions=100)


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    with running_server(BROKER, CELL, tmp_path) as running:
        yield running


def test_no_write_is_synced_without_a_journal_and_one_ack_of_three_copies_is_l4(running: Running) -> None:
    bookies = running.endpoint.options["bookies"].split(",")
    name = running.destination("g")
    computed = running.admin.durability((name,))
    assert computed.level == Durability.L4
    assert {k: computed.because[k] for k in ("write_quorum", "ack_quorum", "journalWriteData")} == {
        "write_quorum": "3",
        "ack_quorum": "1",
        "journalWriteData": "false",
    }
    assert {bookie_settings(url)["dbStorage_writeCacheMaxSizeMb"] for url in bookies} == {"64"}
    before = sum(map(sync_count, bookies))
    sender = running.sender(name)
    for _ in range(30):
        sender.send(1)
        assert set(sender.settle().values()) == {ACKNOWLEDGED}
    (got,) = receive([running.consumer("g", name)], 30)
    assert all(m.intact for m in got)
    # What the journal still gets is the key of each new ledger: a sync of each bookie for a ledger, not for a write.
    assert sum(map(sync_count, bookies)) - before < 30
