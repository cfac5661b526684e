"""What a consumer's ledger makes of the two times in a header. Runs on the C and on the numpy ledger."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brokerlab.agent.ledger import ConsumerLedger, IntervalRow, LedgerShape
from brokerlab.agent.ledger_numpy import NumpyConsumerLedger
from brokerlab.model.blocks import Deliveries
from brokerlab.model.header import CHECKSUM_WORD, HEADER, HEADER_BYTES, MAGIC, VERSION, checksum
from brokerlab.native import library

SHAPE = LedgerShape(producers=1, destinations=1, partitions=1, run_tag=5)
FROM_SCHEDULE, FROM_SEND = "end_to_end_latency", "end_to_end_latency_from_send"


def _native(shape: LedgerShape) -> ConsumerLedger:
    from brokerlab.agent.ledger_native import NativeConsumerLedger

    return NativeConsumerLedger(shape)


MAKERS: list[Callable[[LedgerShape], ConsumerLedger]] = [
    NumpyConsumerLedger,
    *([_native] if library() is not None else []),
]
each_ledger = pytest.mark.parametrize("maker", MAKERS, ids=lambda m: m.__name__)


def message(scheduled_ns: int, handed_over_ns: int, version: int = VERSION) -> bytes:
    header = np.zeros(1, HEADER)
    header["magic"], header["version"], header["run_tag"], header["length"] = MAGIC, version, 5, HEADER_BYTES
    header["scheduled_mono_ns"], header["sent_mono_ns"] = scheduled_ns, handed_over_ns
    header["checksum"] = checksum(header.tobytes())
    return header.tobytes()


def received(ledger: ConsumerLedger, scheduled_ns: int, handed_over_ns: int, arrived_ns: int) -> IntervalRow:
    ledger.start(0, 0)
    ledger.received(Deliveries.from_payloads([message(scheduled_ns, handed_over_ns)], arrived_ns), 0)
    (row,) = ledger.take().intervals
    return row


@each_ledger
@given(
    scheduled_ns=st.integers(0, 1 << 60),
    delay_ns=st.integers(0, 1 << 42),
    way_ns=st.integers(0, 1 << 42),
)
@settings(deadline=None)
def test_the_latency_from_send_is_shorter_by_our_own_lateness(
    maker: Callable[[LedgerShape], ConsumerLedger], scheduled_ns: int, delay_ns: int, way_ns: int
) -> None:
    handed_over_ns = scheduled_ns + delay_ns
    row = received(maker(SHAPE), scheduled_ns, handed_over_ns, handed_over_ns + way_ns)
    assert row.histograms[FROM_SEND].sum_ns == way_ns
    assert row.histograms[FROM_SCHEDULE].sum_ns == delay_ns + way_ns
    assert row.histograms[FROM_SEND].sum_ns <= row.histograms[FROM_SCHEDULE].sum_ns


@each_ledger
def test_an_arrival_before_the_hand_over_is_counted_as_negative_from_send_only(
    maker: Callable[[LedgerShape], ConsumerLedger],
) -> None:
    row = received(maker(SHAPE), 1_000, handed_over_ns=5_000, arrived_ns=4_000)
    assert (row.counters["negative"], row.counters["negative_from_send"]) == (0, 1)
    assert row.histograms[FROM_SCHEDULE].sum_ns == 3_000
    assert row.histograms[FROM_SEND].bucket.tolist() == []


@each_ledger
def test_a_message_of_the_first_header_version_is_not_ours_and_not_damaged(
    maker: Callable[[LedgerShape], ConsumerLedger],
) -> None:
    """Version 1 ended with the checksum, and a body began where the time of handing over is now."""
    old = bytearray(message(1_000, handed_over_ns=0, version=1) + b"body")
    old[12:16] = len(old).to_bytes(4, "little")
    old[8 * CHECKSUM_WORD : 8 * CHECKSUM_WORD + 8] = checksum(old).to_bytes(8, "little")
    ledger = maker(SHAPE)
    ledger.start(0, 0)
    ledger.received(Deliveries.from_payloads([bytes(old)], 2_000), 0)
    assert ledger.totals()._asdict() == {"received": 0, "corrupted": 0, "unexpected": 1, "bytes": 0}
