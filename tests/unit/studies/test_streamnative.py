"""streamnative-2020: every published claim is asked, and what two processors cannot answer is said with the reason."""

from __future__ import annotations

import pytest

from brokerlab import lab
from brokerlab.model.plan import Durability
from brokerlab.studies import planning
from brokerlab.studies.finding import find_study
from brokerlab.studies.load import Study
from brokerlab.studies.planning import Machine, StudyPlan, plan_study

PUBLISHED = (
    "sn-partitions-throughput", "sn-one-partition", "sn-more-producers", "sn-fsync", "sn-latency", "sn-subscriptions",
    "sn-partitions-latency", "sn-kafka-wins-one-ack", "sn-catch-up", "sn-isolation",
)  # fmt: skip
SMALL, LARGE = Machine(2, 24 << 30, 60 << 30), Machine(32, 128 << 30, 8 << 40)


@pytest.fixture(scope="module")
def study() -> Study:
    return find_study("streamnative-2020")


def planned(study: Study, scale: str, machine: Machine) -> StudyPlan:
    return plan_study(study, scale, machine, lambda file, overrides: lab.plan(file, overrides=overrides), lab.estimate)


def test_every_published_claim_is_there_with_its_figure_and_its_place(study: Study) -> None:
    claims = {c.id: c for c in study.claims}
    assert set(PUBLISHED) <= claims.keys()
    for claim in claims.values():
        assert claim.published, claim.id
        assert claim.where, claim.id
    assert any("against the study's headline" in c.says for c in study.claims)
    assert len(study.fields.contradicts_itself) >= 5


def test_both_systems_are_measured_at_all_four_levels_on_three_nodes_with_and_without_a_journal(study: Study) -> None:
    cells = [c.one() for c in planned(study, "full", LARGE).cells.values() if c.plan is not None]
    assert {c.nodes for c in cells} == {3}
    for broker in ("kafka", "pulsar"):
        assert {c.durability for c in cells if c.broker == broker} == set(Durability)
    journals = {c.broker_settings.get("journalWriteData", "true") for c in cells if c.broker == "pulsar"}
    assert journals == {"true", "false"}
    for cell in cells:  # three copies at every level, as in the study
        assert cell.broker == "pulsar" or cell.broker_settings["default.replication.factor"] == "3"


def test_two_processors_are_never_asked_for_the_rate_of_the_study(study: Study) -> None:
    quick = planned(study, "quick", SMALL)
    said = quick.cannot_answer()
    for claim in ("sn-latency", "sn-subscriptions", "sn-partitions-latency"):
        assert said[claim].startswith("needs 12 processors, this machine has 2: ")
        assert "only the scale quick" not in said.get(f"{claim}-low-rate", "")
    assert "two producers already use all there are" in said["sn-more-producers"]
    rates = [quick.cells[name].one().producers.schedule.rate_per_s for name in quick.running_cells()]
    assert max(rate for rate in rates if rate is not None) <= 2_500  # of each of two producers


def test_a_driver_that_is_the_limit_makes_claims_not_runnable_and_a_native_one_makes_them_so(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = {"pulsar": "Apache Pulsar has no native path"}
    monkeypatch.setattr(planning, "without_native", lambda cell: slow.get(cell.broker, ""))
    limited = ("sn-partitions-throughput", "sn-one-partition", "sn-fsync", "sn-latency-low-rate",
               "sn-subscriptions-low-rate", "sn-partitions-latency-low-rate", "sn-kafka-wins-one-ack", "sn-catch-up", "sn-isolation-low-rate")  # fmt: skip
    said = planned(study, "quick", SMALL).cannot_answer()
    for claim in limited:
        assert "needs a native driver" in said[claim], claim
    slow.clear()
    assert not set(limited) & planned(study, "quick", SMALL).cannot_answer().keys()


def test_the_first_look_of_quick_fits_into_half_an_hour(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "without_native", lambda _cell: "")
    first, _ = planned(study, "quick", SMALL).seconds()
    assert first < 30 * 60


def test_the_claims_as_published_are_for_a_large_machine_at_full_scale(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planning, "without_native", lambda _cell: "")
    said = planned(study, "full", LARGE).cannot_answer()
    without_groups = {
        c for c, why in said.items() if "memory_limit_per_node" in why
    }  # this machine has no control groups
    assert not set(PUBLISHED) & said.keys() - without_groups
    assert without_groups <= {"sn-catch-up", "sn-catch-up-journal", "sn-isolation"}
