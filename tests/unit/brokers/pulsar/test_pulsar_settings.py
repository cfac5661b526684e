from __future__ import annotations

from typing import Any

import pytest

from brokerlab.brokers.pulsar.broker import BROKER
from brokerlab.brokers.pulsar.settings import level_of, namespace_of, settings_of, syncs
from brokerlab.model import plan as model
from brokerlab.model.plan import CellPlan, Durability, Security


def problems_of(wanted: CellPlan) -> list[str]:
    return [str(problem) for problem in BROKER.problems(wanted)]


def cell(nodes: int, durability: Durability, **changes: Any) -> model.CellPlan:
    values: dict[str, Any] = {
        "cell": "c01",
        "label": "pulsar",
        "broker": "pulsar",
        "nodes": nodes,
        "durability": durability,
        "destinations": 1,
        "partitions": 2,
        "producers": model.ProducersPlan(
            count=1, agents=1, schedule=model.SchedulePlan(rate_per_s=1.0), payload=model.PayloadPlan()
        ),
        "consumers": model.ConsumersPlan(groups=1, per_group=1, agents_per_group=1),
        "phases": model.PhasesPlan(warm_up_s=0, measure_s=1, drain_limit_s=1),
        "parameters": {},
        "broker_settings": {},
        "client_settings": {},
    }
    return model.CellPlan(**{**values, **changes})


OFFERED = [(n, level) for n, levels in BROKER.capabilities.durability_levels.items() for level in levels]


@pytest.mark.parametrize(("nodes", "level"), OFFERED)
def test_the_settings_of_every_level_offered_lead_to_it_and_always_name_the_sync(nodes: int, level: Durability) -> None:
    made = settings_of(cell(nodes, level))
    assert made.journal["journalSyncData"] == ("true" if level in (Durability.L1, Durability.L3) else "false")
    assert BROKER.planned_durability(cell(nodes, level)).level == level
    assert problems_of(cell(nodes, level)) == []


def test_quorums_of_the_replicated_levels_are_three_copies_of_which_two_answer() -> None:
    made = settings_of(cell(3, Durability.L1))
    assert (made.ensemble, made.write_quorum, made.ack_quorum) == (3, 3, 2)
    alone = settings_of(cell(1, Durability.L3))
    assert (alone.ensemble, alone.write_quorum, alone.ack_quorum) == (1, 1, 1)


@pytest.mark.parametrize("level", [Durability.L3, Durability.L4])
def test_a_cluster_whose_acknowledgement_waits_for_one_copy_still_makes_three(level: Durability) -> None:
    made = settings_of(cell(3, level))
    assert (made.ensemble, made.write_quorum, made.ack_quorum) == (3, 3, 1)


def test_a_journal_that_is_bypassed_is_not_synced_whatever_else_is_set() -> None:
    bypassed = {"journalWriteData": "false"}
    assert problems_of(cell(3, Durability.L2, broker_settings=bypassed)) == []
    assert problems_of(cell(3, Durability.L4, broker_settings=bypassed)) == []
    (said,) = problems_of(cell(3, Durability.L1, broker_settings=bypassed))
    assert "give L2, not L1" in said


@pytest.mark.parametrize(
    ("write", "ack", "fsynced", "level"),
    [(3, 2, True, "L1"), (3, 2, False, "L2"), (3, 1, True, "L3"), (3, 1, False, "L4"), (1, 1, True, "L3")],
)
def test_an_answer_after_one_copy_is_worth_one_copy(write: int, ack: int, fsynced: bool, level: str) -> None:
    assert level_of(write, ack, fsynced) == level


def test_what_a_bookie_does_not_tell_counts_as_not_synced() -> None:
    assert syncs({"journalSyncData": "true", "journalWriteData": "true"})
    assert not syncs({"journalSyncData": "true"})
    assert not syncs({"journalSyncData": "true", "journalWriteData": "false"})
    assert not syncs({})


def test_levels_have_namespaces_of_their_own() -> None:
    assert len({namespace_of(level) for level in Durability}) == 4


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"broker_settings": {"journalSyncDat": "true"}}, "did you mean 'journalSyncData'"),
        ({"broker_settings": {"journalSyncData": "yes"}}, "must be true or false"),
        ({"broker_settings": {"journalSyncData": "true"}}, "give L3, not L4"),
        ({"broker_settings": {"ensemble": "3"}}, "at most the 1 bookies"),
        ({"broker_settings": {"ack_quorum": "2"}}, "ack_quorum <= write_quorum"),
        ({"broker_settings": {"maxMessageSize": "0"}}, "above 0"),
        ({"broker_settings": {"dbStorage_writeCacheMaxSizeMB": "64"}}, "did you mean 'dbStorage_writeCacheMaxSizeMb'"),
        ({"broker_settings": {"managedLedgerNewEntriesCheckDelayInMillis": "-1"}}, "must be a whole number"),
        ({"client_settings": {"batching_max_message": "5"}}, "did you mean 'batching_max_messages'"),
        ({"client_settings": {"batching_max_messages": "5000"}}, "above 0 and at most 2047"),
        ({"client_settings": {"compression_type": "GZIP"}}, "must be one of NONE"),
        ({"client_settings": {"batching_enabled": "1"}}, "must be true or false"),
        ({"client_settings": {"receiver_queue_size": "no"}}, "above 0"),
        ({"driver": "native", "client_settings": {"compression_type": "LZ4"}}, "no compression"),
        ({"security": Security(tls=True, user="u")}, "needs a password"),
        ({"security": Security(user="u", password="env:X")}, "over TLS only"),
    ],
)
def test_a_setting_that_cannot_be_is_a_problem_that_says_why(changes: dict[str, Any], said: str) -> None:
    found = problems_of(cell(1, Durability.L4, **changes))
    assert any(said in line for line in found), found


def test_settings_of_the_workload_reach_bookies_and_brokers() -> None:
    given = {"journalMaxGroupWaitMSec": "5", "maxMessageSize": "1000000"}
    made = settings_of(cell(1, Durability.L4, broker_settings=given))
    assert made.journal["journalMaxGroupWaitMSec"] == "5"
    assert made.broker == {"maxMessageSize": "1000000"}


def test_a_cluster_is_tuned_under_its_own_names_and_larger_caches_get_memory() -> None:
    given = {
        "managedLedgerNewEntriesCheckDelayInMillis": "0",
        "bookkeeperNumberOfChannelsPerBookie": "64",
        "managedLedgerCacheSizeMB": "164",
        "dbStorage_writeCacheMaxSizeMb": "64",
        "journalAdaptiveGroupWrites": "false",
    }
    assert problems_of(cell(3, Durability.L1, broker_settings=given)) == []
    made = settings_of(cell(3, Durability.L1, broker_settings=given))
    assert made.bookie == {"dbStorage_writeCacheMaxSizeMb": "64", "journalAdaptiveGroupWrites": "false"}
    assert made.broker == {n: v for n, v in given.items() if n not in made.bookie}
    assert made.larger_caches_mb == (32, 100)
    assert settings_of(cell(3, Durability.L1)).larger_caches_mb == (0, 0)
