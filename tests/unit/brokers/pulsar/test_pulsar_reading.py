from __future__ import annotations

import pytest

from brokerlab.brokers.contract import NodeInfo
from brokerlab.brokers.kit import probing
from brokerlab.brokers.kit.probing import figures_in
from brokerlab.brokers.pulsar import probe
from brokerlab.brokers.pulsar.consumer import position, share_of
from brokerlab.brokers.pulsar.probe import PAGES_EVERY_S, PulsarProbe, without_journal_number
from brokerlab.model.plan import Endpoint
from brokerlab.model.watched import Sample, WatchedMetric

PAGE = """\
# TYPE bookie_journal_JOURNAL_SYNC_count counter
bookie_journal_JOURNAL_SYNC_count{success="false", journalIndex="0"} 3
bookie_journal_JOURNAL_SYNC_count{success="true", journalIndex="0"} 40
bookie_journal_JOURNAL_SYNC_count{success="true", journalIndex="1"} 2
pulsar_broker_rate_in{cluster="lab"} 1.5 1700000000000
jvm_threads_current 77.0
latency{quantile="0.99"} NaN
broken{ 5
"""


def sampled(name: str, metric: str, unit: str, labels: str = "") -> WatchedMetric:
    return WatchedMetric(metric, unit, Sample(name, labels), "")


def test_samples_with_the_labels_wanted_are_added_up_and_others_are_not() -> None:
    syncs = sampled("bookie_journal_JOURNAL_SYNC_count", "syncs", "1", 'success="true"')
    rate = sampled("pulsar_broker_rate_in", "rate", "1/s")
    threads = sampled("jvm_threads_current", "threads", "1")
    assert figures_in(PAGE, (syncs, rate, threads)) == {syncs: 42.0, rate: 1.5, threads: 77.0}


def test_the_journals_number_in_a_name_is_left_out_of_it() -> None:
    page = 'bookie_journal_journalIndex_0_JOURNAL_SYNC_count{cluster="pulsar", success="true"} 5\n'
    syncs = sampled("bookie_journal_JOURNAL_SYNC_count", "syncs", "1", 'success="true"')
    assert figures_in(page, (syncs,), without_journal_number) == {syncs: 5.0}


def test_what_is_no_number_or_not_there_gives_no_figure() -> None:
    assert (
        figures_in(PAGE, (sampled("latency", "l", "ms"), sampled("absent", "a", "1"), sampled("broken", "b", "1")))
        == {}
    )


def test_pages_cost_the_broker_so_they_are_not_read_every_second(monkeypatch: pytest.MonkeyPatch) -> None:
    asked_at: list[float] = []
    now_s = 100.0
    monkeypatch.setattr(probing.time, "monotonic", lambda: now_s)
    monkeypatch.setattr(probe, "read_text", lambda *_: asked_at.append(now_s) or PAGE)
    pulsar = PulsarProbe(
        Endpoint(addresses=("127.0.0.1:1",)), (NodeInfo("pulsar-1", 1, {"broker": "http://127.0.0.1:1"}),)
    )
    found = []
    for second in range(11):
        now_s = 100.0 + second + 0.01 * (second % 2)  # asked every second, not exactly
        found.append(len(pulsar.read()))
    assert [round(at - 100) for at in asked_at] == [0, PAGES_EVERY_S, 2 * PAGES_EVERY_S]
    assert [n > 0 for n in found] == [second % PAGES_EVERY_S == 0 for second in range(11)]


def test_positions_grow_with_ledger_entry_and_place_in_the_batch() -> None:
    places = [(0, 0, -1), (5, 0, 0), (5, 0, 1), (5, 0, 2047), (5, 1, -1), (6, 0, 0), (2**24 - 1, 2**28 - 1, 2047)]
    packed = [position(*p) for p in places]
    assert packed == sorted(set(packed))
    assert packed[0] == 0
    assert packed[-1] == 2**63 - 1


@pytest.mark.parametrize("place", [(2**24, 0, 0), (0, 2**28, 0), (0, 0, 2048), (-1, -1, -1)])
def test_a_place_that_does_not_fit_has_no_position(place: tuple[int, int, int]) -> None:
    assert position(*place) == -1


@pytest.mark.parametrize(("partitions", "members"), [(4, 1), (4, 2), (5, 3), (3, 3)])
def test_consumers_divide_the_partitions_when_there_are_enough(partitions: int, members: int) -> None:
    topics = [f"t{i}" for i in range(partitions)]
    shares = [share_of(topics, n, members) for n in range(members)]
    assert sorted(t for own, _ in shares for t in own) == topics
    assert not any(shared for _, shared in shares)
    assert shares[0][0] == topics[::members]


def test_more_consumers_than_partitions_share_them_and_leave_none_out() -> None:
    shares = [share_of(["a", "b"], n, 5) for n in range(5)]
    assert all(shared and len(own) == 1 for own, shared in shares)
    assert {own[0] for own, _ in shares} == {"a", "b"}
