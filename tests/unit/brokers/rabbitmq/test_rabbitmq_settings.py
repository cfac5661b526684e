"""Settings, levels and the files of a RabbitMQ node."""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path

import pytest

from brokerlab.brokers.kit.certificates import Certificates
from brokerlab.brokers.rabbitmq.broker import CLASSIC, QUORUM, STREAM
from brokerlab.brokers.rabbitmq.server import Account, NodeLayout, configuration, environment
from brokerlab.brokers.rabbitmq.settings import (
    RabbitSettings,
    confirm_window,
    level_of,
    planned_durability,
    problems,
    settings_of,
)
from brokerlab.model import plan as model

ONE_SIZE = model.PayloadPlan(sizes=(model.SizeShare(message_bytes=100, weight=1.0),))


def cell(broker: str = "rabbitmq-quorum", nodes: int = 1, level: str = "L3", **changes: object) -> model.CellPlan:
    schedule = model.SchedulePlan(rate_per_s=1.0)
    values: dict[str, object] = {
        "cell": "c01",
        "label": broker,
        "broker": broker,
        "nodes": nodes,
        "durability": level,
        "destinations": 1,
        "partitions": 1,
        "producers": model.ProducersPlan(count=1, agents=1, schedule=schedule, payload=ONE_SIZE),
        "consumers": model.ConsumersPlan(groups=1, per_group=1, agents_per_group=1),
        "phases": model.PhasesPlan(warm_up_s=0, measure_s=1, drain_limit_s=1),
        "parameters": {},
        "broker_settings": {},
        "client_settings": {},
    }
    return model.CellPlan(**(values | changes))  # type: ignore[arg-type]


def layouts(count: int) -> list[NodeLayout]:
    return [NodeLayout(i, Path(f"/data/rabbitmq-{i}"), *range(10 * i, 10 * i + 5)) for i in range(1, count + 1)]


@pytest.mark.parametrize(
    ("kind", "members", "level"),
    [
        ("quorum", 3, "L1"),
        ("quorum", 1, "L3"),
        ("stream", 3, "L2"),
        ("stream", 1, "L4"),
        ("classic", 1, "L4"),
        ("classic", 3, "L4"),
    ],
)
def test_the_level_follows_from_kind_and_members(kind: str, members: int, level: str) -> None:
    assert level_of(kind, members, durable=True) == level


@pytest.mark.parametrize("broker", [CLASSIC, QUORUM, STREAM])
def test_settings_lead_to_the_level_that_the_capabilities_offer(broker: object) -> None:
    for nodes, levels in broker.capabilities.durability_levels.items():  # type: ignore[attr-defined]
        settings = settings_of(cell(broker.name, nodes, levels[0]))  # type: ignore[attr-defined]
        assert (level_of(settings.kind, settings.members, durable=True),) == levels


def test_a_level_that_the_kind_cannot_give_is_refused() -> None:
    (problem,) = STREAM.problems(cell("rabbitmq-stream", 3, "L1"))
    assert "L2" in problem.message
    assert STREAM.problems(cell("rabbitmq-stream", 3, "L2")) == []


def test_unknown_and_malformed_settings_are_named_with_the_nearest_known_one() -> None:
    wanted = cell(
        broker_settings={"consumer_timeouts": "1", "max_message_size": "big"},
        client_settings={"prefetch": "70000", "credits": "1"},
    )
    found = [str(problem) for problem in problems(wanted)]
    assert len(found) == 4
    assert "'consumer_timeout'" in found[0]
    assert "max_message_size" in found[1]
    assert "'credit'" in found[2]
    assert "65535" in found[3]


@pytest.mark.parametrize(
    ("kind", "value", "said"),
    [
        ("classic", "false", None),
        ("classic", "off", None),
        ("classic", "no", "must be one of true, on, false, off"),
        ("quorum", "false", "is for rabbitmq-classic"),
        ("stream", "false", "is for rabbitmq-classic"),
    ],
)
def test_confirms_can_be_switched_off_where_they_promise_nothing_more_than_the_network(
    kind: str, value: str, said: str | None
) -> None:
    found = problems(cell(f"rabbitmq-{kind}", client_settings={"confirms": value}))
    assert [p.field for p in found] == ([] if said is None else [("client_settings", "confirms")])
    assert said is None or said in found[0].message


def test_without_confirms_the_planned_level_says_so() -> None:
    found = planned_durability(cell("rabbitmq-classic", client_settings={"confirms": "false"}))
    assert (found.level.value, found.because["publisher confirms"][:3]) == ("L4", "off")
    assert planned_durability(cell("rabbitmq-classic")).because["publisher confirms"] == "on"


def test_more_streams_than_a_connection_can_number_are_refused() -> None:
    assert problems(cell("rabbitmq-stream", 1, "L4", destinations=5, partitions=51)) == []
    (problem,) = problems(cell("rabbitmq-stream", 1, "L4", destinations=4, partitions=64))
    assert "256 streams" in str(problem)
    assert problems(cell("rabbitmq-quorum", 1, "L3", destinations=4, partitions=64)) == []


def test_a_quorum_queue_never_drops_what_is_given_back_often() -> None:
    assert RabbitSettings("quorum", 3, {}).arguments()["x-delivery-limit"] == -1


def test_the_confirm_window_is_the_schedules_own_or_the_limit() -> None:
    closed = model.SchedulePlan(arrival="closed", window=2000)
    assert confirm_window(model.ProducersPlan(count=1, agents=1, schedule=closed, payload=ONE_SIZE)) == 2000
    limited = cell().producers.model_copy(update={"window_limit": 77})
    assert confirm_window(limited) == 77


def test_a_plain_node_listens_on_loopback_only_and_collects_no_sampled_counters() -> None:
    (layout,) = layouts(1)
    text = configuration(layout, [layout], "stream", {"consumer_timeout": "5000"}, None, None)
    listeners = [line for line in text.splitlines() if "listeners" in line or ".ip" in line]
    assert len(listeners) == 4
    assert all("127.0.0.1" in line for line in listeners)
    assert "management_agent.disable_metrics_collector = true" in text
    assert "consumer_timeout = 5000" in text
    assert "cluster_formation" not in text


def test_with_certificates_there_is_no_listener_without_tls() -> None:
    everyone = layouts(3)
    certificates = Certificates(Path("/c/ca.pem"), Path("/c/server.pem"), Path("/c/key.pem"))
    text = configuration(everyone[0], everyone, "stream", {}, certificates, Path("/c/definitions.json"))
    assert "listeners.tcp = none" in text.splitlines()
    assert "stream.listeners.tcp = none" in text.splitlines()
    assert "management.tcp.port" not in text
    assert "load_definitions = /c/definitions.json" in text
    assert text.count("classic_config.nodes.") == 3


def test_the_password_is_written_as_a_salted_hash_only() -> None:
    told = Account("alice", "sesame").definitions()
    assert "sesame" not in told
    (user,) = json.loads(told)["users"]
    raw = base64.b64decode(user["password_hash"])
    assert raw[4:] == hashlib.sha256(raw[:4] + b"sesame").digest()


def test_a_node_is_told_nothing_of_the_users_own_rabbitmq_and_starts_no_port_mapper(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("RABBITMQ_NODENAME", "mine@here")
    monkeypatch.setenv("ERL_LIBS", "/mine")
    monkeypatch.setenv("BROKERLAB_TEST_PASSWORD", "sesame")
    (layout,) = layouts(1)
    made = environment(layout, Path("/erlang"), 4369)
    assert made["RABBITMQ_NODENAME"] == "rabbitmq-1@localhost"
    assert "ERL_LIBS" not in made
    assert "BROKERLAB_TEST_PASSWORD" not in made
    assert made["ERL_FLAGS"] == "-start_epmd false"
    assert made["PATH"].startswith("/erlang/bin:")
