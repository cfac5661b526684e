"""Levels by acks, replicas and write caching, and settings that cannot be."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[3] / "contract"))
from contract_load import cell_for

from brokerlab.brokers.redpanda.broker import BROKER
from brokerlab.brokers.redpanda.settings import computed_durability, topic_settings, write_caching
from brokerlab.errors import EndpointOnlyError
from brokerlab.model.plan import CellPlan, Durability
from brokerlab.workload.capabilities import capability_problems

L1, L2, L3, L4 = Durability


def cell(level: Durability, **changes: object) -> CellPlan:
    return cell_for("redpanda", 3, level, **({"endpoint": ("panda.example.org:9092",)} | changes))


@pytest.mark.parametrize("level", Durability)
def test_what_we_set_leads_to_the_level_asked_for(level: Durability) -> None:
    assert BROKER.problems(cell(level)) == []
    assert list(capability_problems(cell(level), BROKER)) == []
    assert BROKER.planned_durability(cell(level)).level == level


@pytest.mark.parametrize(
    ("acks", "replicas", "caching", "developer", "level"),
    [
        ("all", 3, "false", False, L1),
        ("all", 3, "true", False, L2),
        ("all", 3, "false", True, L2),  # developer mode may bypass fsync
        ("all", 3, None, None, L2),  # nothing known of the disk: the weaker
        ("all", 1, "false", False, L3),
        ("all", 1, "false", None, L3),
        ("all", 1, "true", False, L4),
        ("1", 3, "false", False, L4),
        ("0", 3, "false", False, L4),
    ],
)
def test_the_level_by_what_an_acknowledgement_waits_for(
    acks: str, replicas: int, caching: str | None, developer: bool | None, level: Durability
) -> None:
    assert computed_durability(acks, replicas, caching, developer).level == level


def test_a_topic_gets_a_setting_only_where_the_clusters_default_is_another() -> None:
    assert topic_settings(cell(L1), "false") == {}
    assert topic_settings(cell(L1), "disabled") == {}
    assert topic_settings(cell(L1), "true") == {"write.caching": "false"}
    assert topic_settings(cell(L1), None) == {"write.caching": "false"}
    assert topic_settings(cell(L2), "false") == {"write.caching": "true"}
    given = cell(L1, broker_settings={"replication.factor": "5", "retention.ms": "1000"})
    assert topic_settings(given, "false") == {"retention.ms": "1000"}


def test_a_cluster_that_disables_write_caching_overrules_the_topic() -> None:
    assert write_caching({"write.caching": "true"}, "disabled") == "false"
    assert write_caching({"write.caching": "true"}, "false") == "true"
    assert write_caching({}, None) is None


def test_settings_that_cannot_be_are_refused() -> None:
    given = cell(L1, broker_settings={"write.cashing": "true"}, client_settings={"acks": "2"})
    first, second = BROKER.problems(given)
    assert (first.field, first.nearest) == (("broker_settings", "write.cashing"), "write.caching")
    assert second.field == ("client_settings", "acks")
    (problem,) = BROKER.problems(cell(L1, broker_settings={"write.caching": "true"}))
    assert "give L2, not L1" in problem.message


def test_it_is_never_started_here_and_says_why(tmp_path: Path) -> None:
    here = BROKER.installation()
    assert (here.installed, here.runs_here) == (False, False)
    assert "--endpoint" in here.reason
    with pytest.raises(EndpointOnlyError):
        BROKER.cluster(cell(L1, endpoint=()), tmp_path, tmp_path)
    (problem,) = capability_problems(cell(L1, endpoint=()), BROKER)
    assert problem.field == ("broker",)
    assert "--endpoint" in problem.message
