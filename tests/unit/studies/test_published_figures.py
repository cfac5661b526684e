"""What the five studies published, as data of the project: every claim and the figures that claims are read against, written
down a second time."""

from __future__ import annotations

from functools import cache

import pytest

from brokerlab.model.claims import Claim
from brokerlab.studies.finding import find_study, names
from brokerlab.studies.load import Study

# claim -> its figure for each part, or words that it must contain
CLAIMS: dict[str, dict[str, tuple[float, ...] | str]] = {
    "hpi-2020": {
        "hpi-reaches-rate": (1.0, 1.0, 1.0, 1.0, 1.0, 1.0),
        "hpi-read-in-ram": (1.19,),
        "hpi-acks-surprise": (1.36,),
        "hpi-acks-all-as-one": (1.0,),
        "hpi-batch-helps-without-acks": (1.04, 1.16),
        "hpi-batch-unsteady-with-acks": "peaks of 440,000 and 420,000 against a steady 340,000",
        "hpi-second-sender": (1.35, 1.35),
        "hpi-senders-away-steady": "460,000 with spikes against a steady 420,000",
        "hpi-not-disk-bound": "92 MB/s",
    },
    "kafka-2011": {
        "k11-batch": (8.0,),
        "k11-producer-rabbitmq": "at least 2",
        "k11-producer-activemq": "orders of magnitude",
        "k11-consumer": "more than 4",
        "k11-storage": (9.0, 1.65),
        "k11-no-writes-while-consuming": "none against busy",
    },
    "mqperf-2021": {
        "mq-order": (1.0,),
        "mq-mongo-receive": (0.75, 0.59),
        "mq-postgres-knee": (3.06, 0.89),
        "mq-fsync-cost": (0.042, 1.09),
        "mq-pulsar-partitions": (1.43,),
        "mq-redis-cluster": (2.0,),
        "mq-kmq": (1.0, 37.5),
        "mq-rocketmq-outrun": (0.86,),
        "mq-artemis-consumers": (0.93,),
        "mq-send-receive-parity": (1.0,),
        "mq-p95-artefact": (47_500_000.0, 47_500_000.0),
    },
    "streamnative-2020": {
        "sn-partitions-throughput": (0.5, 1.0),
        "sn-one-partition": (1.67,),
        "sn-more-producers": (2.0,),
        "sn-fsync": (0.69, 0.5),
        "sn-latency": (5.7, 1.9),
        "sn-subscriptions": (27.0, 151.0, 1.0, 1.06),
        "sn-partitions-latency": (29.0, 203.0, 1.3, 1.38),
        "sn-kafka-wins-one-ack": (0.73,),
        "sn-catch-up": (3.5,),
        "sn-isolation": (35.5, 120.0, 1.5, 7.9),
    },
    "ibm-2019": {
        "ibm-resilient-scaling": (2.25, 2.86),
        "ibm-fast-scaling": (1.5, 1.5),
        "ibm-price-of-resilience": (4.4,),
        "ibm-payload": (1.08,),
    },
}
RANGES = {
    "hpi-acks-surprise": (1.32, 1.36),
    "mq-pulsar-partitions": (1.02, 1.43),
    "mq-send-receive-parity": (0.965, 1.005),
}
# of claims that were added here: parts of the above that full asks apart, with figures of their own
APART = {
    "sn-partitions-throughput-fsynced": (0.71, 1.0),
    "sn-one-partition-fsynced": (1.88, 3.0),
    "sn-catch-up-journal": (1.7, 1.7),
    "mq-postgres-latency": (1_172_000_000.0,),
}
# (study, figure, series, x, y, cell)
POINTS = [
    ("hpi-2020", "7", "Hesse et al. 2020", "64 KiB", 290_000, "max-0-64k"),
    ("hpi-2020", "8", "Hesse et al. 2020", "32 KiB", 440_000, "max-1-32k"),
    ("hpi-2020", "10", "Hesse et al. 2020", "acks 1, beside the broker", 460_000, "two-1"),
    ("hpi-2020", "10", "Hesse et al. 2020", "acks 1, one beside the broker and one elsewhere", 420_000, ""),
    ("hpi-2020", "10", "Hesse et al. 2020", "acks 1, elsewhere", 421_000, "two-1-away"),
    ("hpi-2020", "11", "Hesse et al. 2020", "two senders elsewhere", 92, "two-1-away"),
    ("kafka-2011", "4", "Kreps et al. 2011", "Kafka batch 1", 50_000, "kafka-batch-1"),
    ("kafka-2011", "4", "Kreps et al. 2011", "Kafka batch 50", 400_000, "kafka-batch-50"),
    ("kafka-2011", "5", "Kreps et al. 2011", "Kafka", 22_000, "kafka-read"),
    ("ibm-2019", "resilient", "IBM 2019", "9", 1_500_954, "resilient-9"),
    ("ibm-2019", "fast", "IBM 2019", "6", 3_462_023, "fast-6"),
    ("ibm-2019", "payload", "IBM 2019", "512000", 30.49, "size-500k"),
    ("mqperf-2021", "best-receive", "mqperf 2021", "Kafka", 828_827, "kafka"),
    ("mqperf-2021", "best-receive", "mqperf 2021", "RocketMQ", 129_097, "rocketmq"),
    ("mqperf-2021", "best-processing", "mqperf 2021", "PostgreSQL", 4_730, "postgresql"),
    ("mqperf-2021", "kafka-receive", "mqperf 2021", "25x4x8", 188_524, "kafka-25x4x8"),
    ("mqperf-2021", "compared-receive", "mqperf 2021", "PostgreSQL 25x2x4", 20_492, "postgresql-many"),
    ("streamnative-2020", "1-1-level-2", "Kafka", "2000", 300, "kafka-2000-l2"),
    ("streamnative-2020", "1-3", "Kafka", "10000", 200_793, "kafka-many-l2"),
    ("streamnative-2020", "1-3", "Kafka, 1 ack, fsync", "5000", 79_236, ""),
    ("streamnative-2020", "1-4", "Pulsar", "Pulsar", 35.51, "pulsar-mixed-l2"),
    ("streamnative-2020", "1-4-fsync", "Kafka", "Kafka", 2091.31, "kafka-mixed-l1"),
    ("streamnative-2020", "2-4", "Kafka", "1 ack", 3.06, "kafka-latency-l4"),
    ("streamnative-2020", "2-7", "Kafka", "10", 1593.46, "kafka-ten-l1"),
    ("streamnative-2020", "2-7", "Kafka, 1 ack", "10", 15.07, ""),
    ("streamnative-2020", "2-8", "Kafka", "10", 1599.79, "kafka-ten-l1"),
    ("streamnative-2020", "2-12", "Kafka", "10000", 52.24, ""),
    ("streamnative-2020", "2-13", "Pulsar", "8000", 6.86, ""),
    ("streamnative-2020", "2-15", "Kafka", "100", 3.06, "kafka-latency-l4"),
    ("streamnative-2020", "2-16", "Kafka", "10000", 1717.83, "kafka-many-l2"),
]
POINTS_OF = {"hpi-2020": 38, "ibm-2019": 24, "kafka-2011": 12, "mqperf-2021": 574, "streamnative-2020": 145}


@cache
def shipped(name: str) -> Study:
    return find_study(name)


def claims(study: Study) -> dict[str, Claim]:
    return {c.id: c for c in study.claims}


@pytest.mark.parametrize("name", names())
def test_the_claims_of_a_study_are_those_that_it_published_and_all_others_are_called_ours(name: str) -> None:
    study = shipped(name)
    assert set(claims(study)) - study.ours() == set(CLAIMS[name])
    assert sum(map(len, CLAIMS.values())) == 40


@pytest.mark.parametrize("name", names())
def test_every_claim_carries_the_figure_that_was_published(name: str) -> None:
    known = claims(shipped(name))
    for claim, wanted in CLAIMS[name].items():
        found = known[claim]
        assert found.where, claim
        if isinstance(wanted, str):
            assert wanted in found.published_text, claim
            assert found.published == (), claim
        else:
            assert found.published == wanted, claim
        assert found.published_range == RANGES.get(claim), claim


def test_claims_that_were_added_here_carry_published_figures_and_none_that_were_derived() -> None:
    known = {c.id: c for name in names() for c in shipped(name).claims}
    for claim, wanted in APART.items():
        assert known[claim].published == wanted
    derived = [c for c in known.values() if c.id.endswith("-by-cpu")]
    assert len(derived) == 5
    for claim in derived:
        assert claim.published == ()
        assert "not published" not in claim.published_text


@pytest.mark.parametrize(("name", "figure", "series", "x", "y", "cell"), POINTS)
def test_published_points_are_as_they_were_printed(
    name: str, figure: str, series: str, x: str, y: float, cell: str
) -> None:
    (found,) = [p for p in shipped(name).points if (p.figure, p.series, p.x) == (figure, series, x)]
    assert (found.y, found.cell) == (y, cell)


@pytest.mark.parametrize("name", names())
def test_no_published_point_is_lost(name: str) -> None:
    assert len(shipped(name).points) == POINTS_OF[name]


@pytest.mark.parametrize("name", names())
def test_every_cell_that_a_claim_names_is_drawn_in_a_figure(name: str) -> None:
    study = shipped(name)
    drawn = {cell for _, _, cells in study.figures() for cell in cells}
    assert {cell for claim in study.claims for cell in claim.cells} <= drawn
