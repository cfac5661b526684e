"""One workload on several brokers: levels in words, `all`, and what is said of those that cannot."""

from __future__ import annotations

import pytest

from brokerlab.brokers.contract import CellProblem, Installation
from brokerlab.errors import WorkloadError
from brokerlab.model.plan import Endpoint, RunPlan
from brokerlab.workload.load import plan_workload

BASE = """\
name: several
question: Which one?
brokers: [able, plain]
cluster: {nodes: 1}
durability: L4
producers: {rate: 100/s}
phases: {measure: 1s}
"""


@pytest.fixture
def named(broker_named):
    """The brokers of the other tests as servers; `away` does not run here, `toy` is no server."""
    kind = type(broker_named("able"))

    def make(name: str, *, able: bool, server: bool = True, why_not: str = ""):
        broker = kind(name, able=able)
        broker.kind = "server" if server else "calibration"
        broker.installation = lambda: Installation(False, not why_not, "1", why_not)
        return broker

    brokers = {
        "able": make("able", able=True),
        "plain": make("plain", able=False),
        "away": make("away", able=True, why_not="needs another kernel"),
        "toy": make("toy", able=True, server=False),
    }
    return lambda name: brokers.get(name) or broker_named(name)


@pytest.fixture
def plan(written, named):
    def planned(text: str, **given) -> RunPlan:
        known = ("able", "plain", "away", "toy")
        return plan_workload(written(text), broker_named=named, known_brokers=known, **given)

    return planned


def levels(run: RunPlan) -> list[tuple[str, int, str]]:
    return [(c.broker, c.nodes, c.durability.value) for c in run.cells]


def left_out(run: RunPlan) -> list[tuple[str, str]]:
    return [(one.broker, one.reason) for one in run.left_out]


def test_strongest_and_weakest_are_each_brokers_own_with_that_number_of_nodes(plan):
    assert levels(plan(BASE, overrides=["durability=strongest"])) == [("able", 1, "L3"), ("plain", 1, "L4")]
    assert levels(plan(BASE, overrides=["durability=weakest"])) == [("able", 1, "L4"), ("plain", 1, "L4")]
    three = plan(BASE, brokers=["able"], overrides=["durability=strongest", "cluster.nodes=3"])
    assert levels(three) == [("able", 3, "L1")]


def test_a_word_is_resolved_for_every_number_of_nodes_swept(plan):
    run = plan(BASE + "sweep: {cluster.nodes: [1, 3]}\n", brokers=["able"], overrides=["durability=strongest"])
    assert levels(run) == [("able", 1, "L3"), ("able", 3, "L1")]


def test_swept_words_name_the_level_and_one_level_is_one_cell(plan):
    run = plan(BASE + "sweep: {durability: [strongest, weakest]}\n")
    assert [c.label for c in run.cells] == ["able, durability L3", "plain, durability L4", "able, durability L4"]
    assert run.cells[0].parameters == {"durability": "L3"}


def test_a_word_says_nothing_of_a_broker_the_user_runs(plan):
    with pytest.raises(WorkloadError, match="name the level it is set up for"):
        plan(BASE, overrides=["durability=strongest"], endpoints={"able": Endpoint(addresses=("127.0.0.1:1",))})


def test_who_cannot_is_refused_with_a_line_each_that_says_what_it_could(plan):
    with pytest.raises(WorkloadError) as caught:
        plan(BASE.replace("[able, plain]", "[able, plain, kafka]"), overrides=["durability=L2"])
    assert [p.message for p in caught.value.problems] == [
        "able does not offer L2 with 1 node: it offers L3, L4",
        "plain does not offer L2 with 1 node: it offers L4",
        "kafka does not offer L2 with 1 node: it offers L3, L4",
    ]


@pytest.mark.parametrize("text", ["brokers: all", "brokers: [all]", "broker: able"])
def test_all_are_the_servers_that_run_here_and_the_others_are_named(plan, text):
    flag = ["all"] if text.startswith("broker:") else None
    run = plan(BASE.replace("brokers: [able, plain]", text), brokers=flag)
    assert [c.broker for c in run.cells] == ["able", "plain"]
    assert left_out(run) == [("away", "does not run here: needs another kernel")]


def test_of_all_those_that_cannot_do_it_are_left_out_with_the_reason(plan):
    run = plan(BASE, brokers=["all"], overrides=["durability=strongest", "cluster.nodes=3"])
    assert levels(run) == [("able", 3, "L1")]
    assert ("plain", "runs with 1 node here") in left_out(run)
    run = plan(BASE, brokers=["all"], overrides=["durability=L3"])
    assert ("plain", "does not offer L3 with 1 node: it offers L4") in left_out(run)
    run = plan(BASE, brokers=["all"], overrides=["destinations.partitions=2"])
    assert ("plain", "has no partitions: only 1 is possible") in left_out(run)


def test_one_that_can_do_part_of_a_sweep_does_that_part(plan):
    run = plan(BASE + "sweep: {durability: [L3, L4]}\n", brokers=["all"])
    assert levels(run) == [("able", 1, "L3"), ("able", 1, "L4"), ("plain", 1, "L4")]
    assert ("plain", "does not offer L3 with 1 node: it offers L4") in left_out(run)


def test_all_and_nobody_can_is_refused_with_a_line_each(plan):
    with pytest.raises(WorkloadError) as caught:
        plan(BASE, brokers=["all"], overrides=["cluster.nodes=7"])
    assert [p.message for p in caught.value.problems] == [
        "no broker can do this: away does not run here: needs another kernel",
        "no broker can do this: able runs with 1 or 3 nodes here",
        "no broker can do this: plain runs with 1 node here",
    ]


def test_a_wrong_setting_is_a_mistake_even_among_all(plan):
    with pytest.raises(WorkloadError, match="no such setting"):
        plan(BASE + "broker_settings: {plain: {flish: 1}}\n", brokers=["all"])


def test_settings_nobody_gave_are_nobodys_mistake(plan, named):
    """What a broker finds about its own defaults is a reason to leave it out, or follows from one."""
    plain = named("plain")
    plain.problems = lambda _cell: [CellProblem(("client_settings", "replicas"), "a master has -1")]
    assert left_out(plan(BASE, brokers=["all"]))[-1] == ("plain", "a master has -1")
    three = left_out(plan(BASE, brokers=["all"], overrides=["cluster.nodes=3", "durability=L1"]))
    assert [reason for broker, reason in three if broker == "plain"] == ["runs with 1 node here"]


def test_all_stands_alone(plan):
    with pytest.raises(WorkloadError, match="all must stand alone"):
        plan(BASE.replace("[able, plain]", "[able, all]"))


def test_a_broker_the_user_runs_is_among_all_wherever_it_would_run(plan):
    run = plan(BASE, brokers=["all"], endpoints={"away": Endpoint(addresses=("127.0.0.1:1",))})
    assert [c.broker for c in run.cells] == ["able", "plain", "away"]
    assert run.left_out == ()
