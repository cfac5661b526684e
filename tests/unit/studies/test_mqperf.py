"""mqperf-2021 as it ships: every published load is a cell, every claim is asked, and stand-ins are called so."""

from __future__ import annotations

import re
from functools import cache

import pytest

from brokerlab import lab
from brokerlab.model.plan import CellPlan
from brokerlab.studies.finding import find_study
from brokerlab.studies.load import Study
from brokerlab.studies.planning import Machine, StudyPlan, plan_study

LARGE = Machine(cpu_count=256, memory_bytes=1 << 40, disk_free_bytes=1 << 45)
SMALL = Machine(cpu_count=2, memory_bytes=24 << 30, disk_free_bytes=1 << 37)
LOAD = re.compile(r"-(\d+)(?:-(\d+))?x(\d+)x(\d+)$")  # threads, receivers' threads where they differ, nodes of each
OF_THE_STUDY = (
    "mq-order",
    "mq-mongo-receive",
    "mq-postgres-knee",
    "mq-fsync-cost",
    "mq-pulsar-partitions",
    "mq-redis-cluster",
    "mq-kmq",
    "mq-rocketmq-outrun",
    "mq-artemis-consumers",
    "mq-send-receive-parity",
    "mq-p95-artefact",
)


@cache
def study() -> Study:
    return find_study("mqperf-2021")


@cache
def planned(scale: str, machine: Machine) -> StudyPlan:
    return plan_study(study(), scale, machine, lambda w, o: lab.plan(w, overrides=o), lab.estimate)


def grid() -> list[str]:
    return [c.name for c in study().cells if LOAD.search(c.name)]


@pytest.mark.parametrize("claim", OF_THE_STUDY)
def test_every_claim_of_the_study_is_asked_and_says_where_it_was_published(claim: str) -> None:
    found = next(c for c in study().claims if c.id == claim)
    assert found.published or found.published_text
    assert found.where


def test_every_published_load_of_a_system_that_runs_here_is_a_cell_of_full_alone() -> None:
    published = {p.cell for p in study().points if p.figure.endswith("-receive") and LOAD.search(p.cell)}
    assert published == set(grid())
    assert len(grid()) == 122
    full, quick = planned("full", LARGE), planned("quick", SMALL)
    assert set(grid()) <= set(full.running_cells())
    assert not set(grid()) & set(quick.running_cells())
    assert quick.only_at_another_scale() == set(grid())
    assert not full.only_at_another_scale()


@pytest.mark.parametrize("name", [c.name for c in find_study("mqperf-2021").cells if LOAD.search(c.name)])
def test_a_cell_of_the_grid_has_the_load_that_its_name_says(name: str) -> None:
    match = LOAD.search(name)
    assert match is not None
    senders, receivers, sender_nodes, receiver_nodes = (int(n or match[1]) for n in match.groups())
    cell = planned("full", LARGE).cells[name].one()
    assert (cell.producers.count, cell.producers.agents) == (senders * sender_nodes, sender_nodes)
    assert (cell.consumers.per_group, cell.consumers.agents_per_group) == (receivers * receiver_nodes, receiver_nodes)
    assert shares_of_queues(cell)


def shares_of_queues(cell: CellPlan) -> bool:
    """Where a partition has one consumer at a time, there are enough of them."""
    assigned = cell.broker in ("kafka", "kafka-kmq", "rocketmq")
    return not assigned or cell.partitions >= cell.consumers.per_group


@pytest.mark.parametrize("scale", ["quick", "full"])
def test_senders_send_batches_and_receivers_take_ten_at_most(scale: str) -> None:
    cells = [c.one() for c in planned(scale, LARGE).cells.values()]
    assert {(c.producers.schedule.batch_least, c.producers.schedule.window) for c in cells} == {(1, 10)}
    assert {c.consumers.receive_most for c in cells} == {10}
    assert all(shares_of_queues(c) for c in cells)


def test_full_has_the_clusters_of_the_study() -> None:
    cells = {name: c.one() for name, c in planned("full", LARGE).cells.items()}
    nodes = {"artemis": 6, "rocketmq": 6, "redis-cluster": 9, "mongodb": 1, "sqs": 1}  # all others: three
    assert {c.broker: c.nodes for c in cells.values()} == {c.broker: nodes.get(c.broker, 3) for c in cells.values()}
    assert cells["kafka-flush-1"].durability == "L1"
    assert cells["redis"].broker_settings == {"appendonly": "no"}  # as it is written, without quotes


def test_two_cores_answer_what_they_can_within_the_hour() -> None:
    plan = planned("quick", SMALL)
    cannot = plan.cannot_answer()
    assert "needs 8 processors" in cannot["mq-pulsar-partitions"]
    assert "here it is FerretDB" in cannot["mq-mongo-receive"]
    least, _ = plan.seconds()
    assert least < 45 * 60


def test_stand_ins_are_measured_and_not_ranked() -> None:
    ranked = {cell for c in study().claims if c.id.startswith("mq-order") for cell in c.cells}
    assert not ranked & {"ferretdb", "elasticmq"}
    assert {"ferretdb", "elasticmq"} <= set(planned("quick", SMALL).running_cells())
    said = " ".join(study().fields.differs)
    assert "FerretDB stands in for MongoDB and ElasticMQ for Amazon SQS" in said


def test_only_claims_that_do_not_depend_on_how_fast_clients_are_expect_them_to_be_saturated() -> None:
    expecting = {c.id for c in study().claims if "agent_saturated" in c.expects}
    assert expecting == {
        "mq-order-by-cpu", "mq-pulsar-partitions-by-cpu", "mq-redis-cluster-by-cpu", "mq-p95-artefact",
    }  # fmt: skip


@pytest.mark.parametrize(("cell", "threads"), [("postgresql-few", 1), ("postgresql-five", 5), ("postgresql-many", 25)])
def test_the_knee_of_postgresql_is_looked_for_at_the_published_loads(cell: str, threads: int) -> None:
    ours = planned("full", LARGE).cells[cell].one()
    published = planned("full", LARGE).cells[f"postgresql-{threads}x2x4"].one()
    assert (ours.producers, ours.consumers) == (published.producers, published.consumers)
    knee = next(c for c in study().claims if c.id == "mq-postgres-knee")
    assert {p.metric for p in knee.parts} == {"received_per_s"}  # a shape, never an absolute time
