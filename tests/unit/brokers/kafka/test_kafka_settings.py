from __future__ import annotations

from typing import Any

import pytest

from brokerlab.brokers.kafka.admin import topic_durability
from brokerlab.brokers.kafka.broker import BROKER
from brokerlab.brokers.kafka.client import NEVER_NS, commit_every_ns, consumer_properties, producer_properties
from brokerlab.brokers.kafka.settings import (
    CONSUMER_SETTINGS,
    LEVELS,
    PRODUCER_SETTINGS,
    SERVER_SETTINGS,
    SHARED_SETTINGS,
    TOPIC_SETTINGS,
    computed_durability,
    server_settings,
    topic_settings,
)
from brokerlab.model.plan import (
    AgentPlan,
    CellPlan,
    ConsumersPlan,
    Durability,
    Endpoint,
    PayloadPlan,
    PhasesPlan,
    ProducersPlan,
    Role,
    SchedulePlan,
)

NEVER = 2**63 - 1
PRODUCERS = ProducersPlan(
    count=1, agents=1, schedule=SchedulePlan(rate_per_s=1), payload=PayloadPlan(), window_limit=500, send_timeout_s=7
)
CONSUMERS = ConsumersPlan(groups=1, per_group=1, agents_per_group=1)
PHASES = PhasesPlan(warm_up_s=0, measure_s=1, drain_limit_s=1)


def problems_of(wanted: CellPlan) -> list[str]:
    return [str(problem) for problem in BROKER.problems(wanted)]


def cell(nodes: int = 3, durability: Durability = Durability.L2, **changes: Any) -> CellPlan:
    values: dict[str, Any] = {
        "cell": "c01",
        "label": "",
        "broker": "kafka",
        "nodes": nodes,
        "durability": durability,
        "destinations": 1,
        "partitions": 1,
        "producers": PRODUCERS,
        "consumers": CONSUMERS,
        "phases": PHASES,
        "parameters": {},
        "broker_settings": {},
        "client_settings": {},
    }
    return CellPlan(**{**values, **changes})


def plan(durability: Durability = Durability.L2, acknowledge: str = "batch", **client_settings: str) -> AgentPlan:
    return AgentPlan(
        run="r",
        cell="c01",
        repeat=1,
        agent="producer-1",
        run_tag=1,
        role=Role.PRODUCER,
        broker="kafka",
        driver="python",
        endpoint=Endpoint(addresses=("127.0.0.1:1", "127.0.0.1:2")),
        destinations=("t",),
        partitions=1,
        members=(0,),
        producers_in_cell=1,
        group="g1",
        producers=PRODUCERS,
        consumers=CONSUMERS.model_copy(update={"acknowledge": acknowledge}),
        phases=PHASES,
        client_settings={name.replace("_", "."): value for name, value in client_settings.items()},
        durability=durability,
        evidence_directory="unused",
        seed=1,
    )


@pytest.mark.parametrize(
    ("replicas", "in_sync", "flush", "acks", "level"),
    [
        (3, 2, 1, "all", "L1"),
        (3, 2, NEVER, "all", "L2"),
        (2, 2, NEVER, "all", "L2"),
        (3, 1, NEVER, "all", "L4"),  # the trap: acks=all is satisfied by the leader alone
        (3, 2, NEVER, "1", "L4"),
        (3, 2, 1, "1", "L3"),
        (3, 1, 1, "all", "L3"),
        (1, 1, 1, "all", "L3"),
        (1, 1, 1, "1", "L3"),
        (1, 1, 1, "0", "L4"),
        (3, 2, 1, "0", "L4"),
        (1, 1, 2, "all", "L4"),  # two messages per flush: the first is acknowledged before it
        (1, 2, NEVER, "all", "L4"),
    ],
)
def test_the_level_follows_from_the_settings(replicas: int, in_sync: int, flush: int, acks: str, level: str) -> None:
    computed = computed_durability(
        replication_factor=replicas, min_insync_replicas=in_sync, flush_messages=flush, acks=acks
    )
    assert computed.level == level
    assert computed.because == {
        "acks": acks,
        "replication_factor": str(replicas),
        "min.insync.replicas": str(in_sync),
        "flush.messages": str(flush),
    }


@pytest.mark.parametrize("level", list(Durability))
def test_settings_made_for_a_level_give_that_level(level: Durability) -> None:
    read_back = {"flush.messages": str(NEVER), **topic_settings(level, {})}
    read_back["replication_factor"] = str(LEVELS[level].replication_factor)
    assert topic_durability(read_back, LEVELS[level].acks).level == level
    assert problems_of(cell(3, level)) == []


def test_a_misspelt_setting_is_refused_with_the_nearest_name() -> None:
    problems = problems_of(
        cell(broker_settings={"flush.message": "1"}, client_settings={"lingerms": "5", "xyzzy": "1"})
    )
    assert len(problems) == 3
    assert problems[0].startswith("broker_settings.flush.message: ")
    assert "'flush.messages'" in problems[0]
    assert "'linger.ms'" in problems[1]
    assert "did you mean" not in problems[2]


def test_settings_that_are_ours_to_decide_name_the_field_to_use() -> None:
    problems = problems_of(cell(client_settings={"message.timeout.ms": "1", "group.id": "x"}))
    assert [p.partition(": ")[0] for p in problems] == [
        "client_settings.group.id",
        "client_settings.message.timeout.ms",
    ]
    assert "producers.send_timeout" in problems[1]


@pytest.mark.parametrize(
    ("durability", "broker_settings", "client_settings", "gives"),
    [
        ("L2", {}, {"acks": "1"}, "L4"),
        ("L1", {"flush.messages": "100"}, {}, "L2"),
        ("L2", {"log.flush.interval.messages": "1"}, {}, "L1"),
        ("L2", {"min.insync.replicas": "1"}, {}, "L4"),
        ("L1", {"default.replication.factor": "1"}, {}, "L3"),
    ],
)
def test_settings_that_contradict_the_level_are_refused(
    durability: str, broker_settings: dict[str, str], client_settings: dict[str, str], gives: str
) -> None:
    (problem,) = problems_of(
        cell(3, Durability(durability), broker_settings=broker_settings, client_settings=client_settings)
    )
    assert problem.endswith(f"give {gives}, not {durability}")


def test_weaker_acks_are_fine_where_nothing_more_was_promised() -> None:
    assert problems_of(cell(1, Durability.L4, client_settings={"acks": "0"})) == []
    assert problems_of(cell(1, Durability.L4, client_settings={"acks": "-1"})) == []


def test_values_that_cannot_be_are_refused() -> None:
    assert "must be one of all, -1, 1, 0" in problems_of(cell(client_settings={"acks": "2"}))[0]
    assert "two names" in problems_of(cell(client_settings={"acks": "1", "request.required.acks": "1"}))[0]
    assert "whole number" in problems_of(cell(broker_settings={"min.insync.replicas": "two"}))[0]
    assert "do not fit" in problems_of(cell(nodes=1, durability=Durability.L2))[0]


def test_options_of_the_jvm_are_checked_and_never_reach_kafkas_own_settings() -> None:
    options = {"jvm.options": "-Xmx2g -XX:+UseZGC", "num.io.threads": "2"}
    assert problems_of(cell(broker_settings=options)) == []
    assert server_settings(options) == {"num.io.threads": "2"}
    for nonsense in ("", "Xmx2g", "-Xmx2g; rm", "-cp evil.jar"):
        (problem,) = problems_of(cell(broker_settings={"jvm.options": nonsense}))
        assert "must be options that begin with -X or -D" in problem


def test_one_node_may_send_its_clients_elsewhere_and_several_may_not() -> None:
    elsewhere = {"advertised.listeners": "PLAINTEXT://127.0.0.1:4"}
    assert problems_of(cell(1, Durability.L4, broker_settings=elsewhere)) == []
    (problem,) = problems_of(cell(3, Durability.L4, broker_settings=elsewhere))
    assert "advertised.listeners" in problem


def test_secrets_are_not_settings() -> None:
    problems = problems_of(cell(client_settings={"sasl.password": "x", "sasl.username": "y"}))
    assert len(problems) == 2
    assert all("use security" in problem for problem in problems)


@pytest.mark.parametrize("nodes", [3, 6, 9])
@pytest.mark.parametrize("level", list(Durability))
def test_every_level_is_to_be_had_with_three_nodes_and_more(nodes: int, level: Durability) -> None:
    assert problems_of(cell(nodes, level)) == []


def test_broker_settings_are_parted_between_topics_and_servers() -> None:
    given = {"segment.bytes": "1048576", "num.io.threads": "2", "compression.type": "lz4"}
    assert server_settings(given) == {"num.io.threads": "2"}
    assert topic_settings(Durability.L4, given) == {
        "min.insync.replicas": "1",
        "segment.bytes": "1048576",
        "compression.type": "lz4",
    }
    assert not TOPIC_SETTINGS & SERVER_SETTINGS


@pytest.mark.parametrize(("level", "acks"), [("L1", "all"), ("L2", "all"), ("L3", "all"), ("L4", "1")])
def test_acks_follow_the_level(level: str, acks: str) -> None:
    assert producer_properties(plan(Durability(level)))["acks"] == acks


def test_client_settings_win_and_go_to_their_role_only() -> None:
    ours = plan(Durability.L4, acks="0", linger_ms="1", fetch_min_bytes="10", socket_timeout_ms="9000")
    producer, consumer = producer_properties(ours), consumer_properties(ours)
    assert (producer["acks"], producer["linger.ms"]) == ("0", "1")
    assert "fetch.min.bytes" not in producer
    assert (consumer["fetch.min.bytes"], "acks" in consumer, "linger.ms" in consumer) == ("10", False, False)
    assert producer["socket.timeout.ms"] == consumer["socket.timeout.ms"] == "9000"


def test_producer_limits_come_from_the_plan() -> None:
    properties = producer_properties(plan())
    assert properties["message.timeout.ms"] == "7000"
    assert properties["queue.buffering.max.messages"] == "501"
    assert properties["bootstrap.servers"] == "127.0.0.1:1,127.0.0.1:2"
    assert "enable.idempotence" not in properties


@pytest.mark.parametrize(("acknowledge", "automatic"), [("automatic", "true"), ("batch", "false"), ("each", "false")])
def test_only_automatic_acknowledgement_lets_the_client_commit(acknowledge: str, automatic: str) -> None:
    assert consumer_properties(plan(acknowledge=acknowledge))["enable.auto.commit"] == automatic


def test_the_commit_interval_is_a_whole_number_of_milliseconds() -> None:
    def found(value: str) -> list[str]:
        return problems_of(cell(1, Durability.L4, client_settings={"auto.commit.interval.ms": value}))

    assert found("5000") == found("0") == []
    assert "whole number of milliseconds" in found("5s")[0]


def test_positions_are_committed_as_often_as_asked() -> None:
    def every_ms(acknowledge: str, interval: str | None = None) -> float:
        given = {} if interval is None else {"auto_commit_interval_ms": interval}
        return commit_every_ns(plan(acknowledge=acknowledge, **given)) / 1e6

    ways = ("each", "batch", "automatic")
    assert [every_ms(way) for way in ways] == [0, 100, 100]
    assert [every_ms(way, "5000") for way in ways] == [0, 5000, 5000]
    assert [every_ms(way, "0") for way in ways] == [0, NEVER_NS / 1e6, NEVER_NS / 1e6], "not before they close"
    assert consumer_properties(plan(acknowledge="automatic"))["auto.commit.interval.ms"] == "100"


def test_the_client_library_knows_every_setting_we_let_users_set() -> None:
    from confluent_kafka import Consumer, KafkaException, Producer

    def is_known(kind: type, name: str) -> bool:
        # A value no property takes: the library complains about the value of a name it knows. Strings take any value.
        try:
            kind({"bootstrap.servers": "127.0.0.1:1", "group.id": "x", "log_level": "0", name: "\x01"})
        except KafkaException as e:
            return "No such configuration property" not in str(e)
        return True

    assert not is_known(Producer, "no.such.name")
    assert [n for n in sorted(PRODUCER_SETTINGS | SHARED_SETTINGS) if not is_known(Producer, n)] == []
    assert [n for n in sorted(CONSUMER_SETTINGS | SHARED_SETTINGS) if not is_known(Consumer, n)] == []
