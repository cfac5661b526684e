"""What a ledger's rows say, on inputs small enough to count by hand. Runs on the C and on the numpy ledger."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from brokerlab.agent.ledger import LedgerShape, ProducerLedger
from brokerlab.agent.ledger_numpy import NumpyProducerLedger
from brokerlab.model.blocks import ACKNOWLEDGED, REJECTED, UNKNOWN, Settlements
from brokerlab.model.histogram import bucket_of
from brokerlab.native import library

SECOND = 1_000_000_000
SHAPE = LedgerShape(producers=1, destinations=1, partitions=2, ring_size=16)
ONE_LANE = np.zeros(1, np.int32)


def _native(shape: LedgerShape) -> ProducerLedger:
    from brokerlab.agent.ledger_native import NativeProducerLedger

    return NativeProducerLedger(shape)


Maker = Callable[[LedgerShape], ProducerLedger]
MAKERS: list[Maker] = [NumpyProducerLedger, *([_native] if library() is not None else [])]


@pytest.fixture(params=MAKERS, ids=lambda m: m.__name__)
def ledger(request: pytest.FixtureRequest) -> ProducerLedger:
    made: ProducerLedger = request.param(SHAPE)
    made.start(0, 2 * SECOND)
    return made


def send(ledger: ProducerLedger, index: int, scheduled: list[int], at_ns: int, partition: int = 0) -> None:
    n = len(scheduled)
    sequences = np.arange(index, index + n, dtype=np.int64)
    lanes = np.full(n, partition, np.int32)
    ledger.sent(index, np.array(scheduled, np.int64), lanes, sequences, np.full(n, 50, np.int32), at_ns)


def settle(ledger: ProducerLedger, indices: list[int], outcome: int, at_ns: int) -> int:
    n = len(indices)
    return ledger.settled(
        Settlements(np.array(indices, np.int64), np.full(n, outcome, np.uint8), np.full(n, at_ns, np.int64))
    )


def test_latency_counts_from_the_scheduled_time_not_from_the_sending(ledger: ProducerLedger) -> None:
    send(ledger, 0, [1000], at_ns=5000)
    settle(ledger, [0], ACKNOWLEDGED, at_ns=9000)
    (row,) = ledger.take().intervals
    assert row.histograms["publish_latency"].min_ns == 8000
    assert row.histograms["send_delay"].min_ns == 4000
    assert row.histograms["publish_latency"].bucket.tolist() == bucket_of(np.array([8000])).tolist()


def test_a_publish_latency_is_the_send_delay_and_the_latency_from_send(ledger: ProducerLedger) -> None:
    handed_over = {0: 1_200, 1: 5_000, 2: 90_000}
    acknowledged = {0: 100_000, 1: 5_000, 2: 7_000_000}
    for index, at_ns in handed_over.items():
        send(ledger, index, [1_000 + index], at_ns)
        settle(ledger, [index], ACKNOWLEDGED, acknowledged[index])
        (row,) = ledger.take().intervals  # of this message alone
        took_ns = {m: row.histograms[m].sum_ns for m in ("publish_latency", "publish_latency_from_send", "send_delay")}
        assert took_ns["publish_latency_from_send"] == acknowledged[index] - at_ns
        assert took_ns["publish_latency"] - took_ns["publish_latency_from_send"] == took_ns["send_delay"]
        assert row.histograms["publish_latency_from_send"].count.tolist() == [1]


def test_what_was_not_acknowledged_has_no_latency(ledger: ProducerLedger) -> None:
    send(ledger, 0, [1000, 1000], at_ns=2000)
    settle(ledger, [0], REJECTED, at_ns=9000)
    settle(ledger, [1], UNKNOWN, at_ns=9000)
    (row,) = ledger.take().intervals
    assert [m for m, h in row.histograms.items() if len(h.bucket)] == ["send_delay"]


def test_a_late_acknowledgement_belongs_to_the_second_and_phase_of_its_schedule(ledger: ProducerLedger) -> None:
    send(ledger, 0, [SECOND, 2 * SECOND + 1], at_ns=2 * SECOND + 2)
    ledger.take()
    settle(ledger, [0, 1], ACKNOWLEDGED, at_ns=9 * SECOND)
    rows = {(r.second, r.phase): r.counters["acknowledged"] for r in ledger.take().intervals}
    assert rows == {(1, 0): 1, (2, 1): 1}


def test_outcomes_become_ranges_and_silence_becomes_unknown(ledger: ProducerLedger) -> None:
    send(ledger, 0, [0] * 6, at_ns=10)
    settle(ledger, [0, 1, 3], ACKNOWLEDGED, 20)
    settle(ledger, [2], REJECTED, 20)
    assert ledger.expire(sent_before_ns=11, now_ns=30) == 2
    rows = sorted((r["outcome"].item(), r["first"].item(), r["last"].item()) for r in ledger.take().ranges)
    assert rows == [(ACKNOWLEDGED, 0, 1), (ACKNOWLEDGED, 3, 3), (REJECTED, 2, 2), (UNKNOWN, 4, 5), (3, 0, 5)]


def test_a_settlement_after_giving_up_changes_nothing(ledger: ProducerLedger) -> None:
    send(ledger, 0, [0], at_ns=10)
    ledger.expire(sent_before_ns=11, now_ns=30)
    assert settle(ledger, [0], ACKNOWLEDGED, 40) == 0
    totals = ledger.totals()
    assert (totals.acknowledged, totals.unknown, totals.late_settlements, totals.in_flight) == (0, 1, 1, 0)


def test_room_shrinks_until_the_oldest_message_settles(ledger: ProducerLedger) -> None:
    send(ledger, 0, [0] * 10, at_ns=10)
    settle(ledger, list(range(1, 10)), ACKNOWLEDGED, 20)
    assert ledger.room() == 6
    settle(ledger, [0], ACKNOWLEDGED, 20)
    assert ledger.room() == 16


def test_negative_latencies_are_counted_and_kept_out_of_the_histogram(ledger: ProducerLedger) -> None:
    send(ledger, 0, [1000], at_ns=900)
    (row,) = ledger.take().intervals
    assert row.counters["negative"] == 1
    assert row.histograms["send_delay"].bucket.tolist() == []
    settle(ledger, [0], ACKNOWLEDGED, at_ns=800)  # before it was handed over
    (row,) = ledger.take().intervals
    assert (row.counters["negative"], row.counters["negative_from_send"]) == (1, 1)
    assert row.histograms["publish_latency_from_send"].bucket.tolist() == []


def test_taking_rows_empties_the_ledger_but_keeps_what_is_in_flight(ledger: ProducerLedger) -> None:
    send(ledger, 0, [0, 0], at_ns=10)
    ledger.take()
    again = ledger.take()
    assert again.intervals == []
    assert len(again.ranges) == 0
    assert ledger.totals().in_flight == 2
