"""Our own lateness is held against an execution by what it adds to a latency, so that a fast broker is not punished."""

from __future__ import annotations

import pytest
from test_verdict_rules import findings, good_tables, judged

from brokerlab.judge.load_checks import Lateness
from brokerlab.model.quantiles import JUDGED_QUANTILES

# Lateness that is added, the latency without it, and whether that is too much: more than a fifth and more than 2 ms.
ADDED = [
    (1.9, 0.3, False),
    (1.9, 5.0, False),
    (1.9, 200.0, False),
    (2.0, 0.3, False),
    (2.1, 0.3, True),
    (2.1, 5.0, True),
    (2.1, 20.0, False),
    (4.1, 20.0, True),
    (39.0, 200.0, False),
    (41.0, 200.0, True),
]


@pytest.mark.parametrize(("added_ms", "latency_ms", "too_much"), ADDED)
@pytest.mark.parametrize("quantile", JUDGED_QUANTILES)
@pytest.mark.parametrize("measure", ["publish_latency", "end_to_end_latency"])
def test_lateness_spoils_a_latency_beyond_a_fifth_of_it_and_two_milliseconds(
    measure: str, quantile: str, added_ms: float, latency_ms: float, too_much: bool
) -> None:
    tables = good_tables()
    (row,) = [r for r in tables["latency_per_phase"] if r["measure"] == measure]
    without_ns = {q: int(latency_ms * 1e6) for q in JUDGED_QUANTILES}
    row.update(without_ns)
    tables["latency_per_phase"].append({**row, "measure": f"{measure}_from_send"})
    row[quantile] += int(added_ms * 1e6)
    verdict = judged(findings(tables))
    assert [r.code for r in verdict.reasons] == (["send_delay"] if too_much else [])
    (cell,) = verdict.cells
    assert (cell.delivery, cell.rates, cell.latencies) == ("valid", "valid", "invalid" if too_much else "valid")


def test_the_quantiles_that_are_judged_are_the_median_and_p99() -> None:
    assert JUDGED_QUANTILES == ("p50_ns", "p99_ns")


@pytest.mark.parametrize("latency_ns", [0, 1, 9_999_999])
def test_exactly_the_floor_is_not_too_much_however_fast_the_broker_is(latency_ns: int) -> None:
    assert not Lateness("publish_latency", "p99_ns", latency_ns + 2_000_000, latency_ns).is_too_much()
    assert Lateness("publish_latency", "p99_ns", latency_ns + 2_000_001, latency_ns).is_too_much()


def test_of_two_brokers_with_the_same_lateness_below_the_floor_neither_is_spoiled() -> None:
    """Quorum queues of RabbitMQ were once invalid with 1.9 ms, and classic ones valid with 2.3 ms: theirs was higher."""
    fast = Lateness("publish_latency", "p99_ns", 4_900_000, 3_000_000)
    slow = Lateness("publish_latency", "p99_ns", 31_900_000, 30_000_000)
    assert (fast.added_ns, fast.is_too_much()) == (slow.added_ns, slow.is_too_much()) == (1_900_000, False)
