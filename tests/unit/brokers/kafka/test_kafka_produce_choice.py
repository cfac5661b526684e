"""Which plans the producer that speaks for itself takes, with which settings; the others are librdkafka's."""

from __future__ import annotations

import pytest

from brokerlab.brokers.kafka.driver_produce import _settings, can_write
from brokerlab.model.plan import (
    AgentPlan,
    Durability,
    Endpoint,
    PayloadPlan,
    PhasesPlan,
    ProducersPlan,
    Role,
    SchedulePlan,
    Security,
    SizeShare,
)

MS = 1_000_000


def plan(settings: dict[str, str], endpoint: Endpoint | None = None) -> AgentPlan:
    return AgentPlan(
        run="r", cell="c", repeat=1, agent="producer-1", run_tag=1, role=Role.PRODUCER, broker="kafka", driver="auto",
        endpoint=endpoint or Endpoint(addresses=("127.0.0.1:1",)), destinations=("d",), partitions=1, members=(0,),
        producers_in_cell=1, group=None, consumers=None,
        producers=ProducersPlan(
            count=1, agents=1, schedule=SchedulePlan(rate_per_s=1), send_timeout_s=7,
            payload=PayloadPlan(sizes=(SizeShare(message_bytes=100, weight=1),)),
        ),
        phases=PhasesPlan(warm_up_s=0, measure_s=1, drain_limit_s=1), client_settings=settings,
        durability=Durability.L4, evidence_directory="", seed=1,
    )  # fmt: skip


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"acks": "1", "linger.ms": "0.5", "batch.size": "16384", "max.in.flight": "1", "retries": "0"},
        {"compression.type": "none", "enable.idempotence": "false"},
        {"acks": "0"},
        {"request.required.acks": "0", "batch.size": "65536"},
        {"fetch.min.bytes": "65536", "isolation.level": "read_committed"},  # the consumers'
    ],
)
def test_plain_plans_are_written_here(settings: dict[str, str]) -> None:
    assert can_write(plan(settings))


@pytest.mark.parametrize(
    "settings",
    [
        {"compression.type": "lz4"},
        {"compression.codec": "zstd"},
        {"enable.idempotence": "true"},
        {"enable.gapless.guarantee": "true"},
        {"security.protocol": "SSL"},
        {"debug": "msg"},
    ],
)
def test_what_is_more_than_producing_is_left_to_librdkafka(settings: dict[str, str]) -> None:
    assert not can_write(plan(settings))


def test_security_is_left_to_librdkafka() -> None:
    assert not can_write(plan({}, Endpoint(addresses=("127.0.0.1:1",), security=Security(tls=True))))
    assert not can_write(plan({}, Endpoint(addresses=("127.0.0.1:1",), options={"security.protocol": "SSL"})))


def test_defaults_are_librdkafkas_but_for_the_requests_under_way() -> None:
    assert _settings(plan({})).tolist() == [
        1, 5 * MS, 1_000_000, 10_000, 5, 1_000_000, 30_000, 7000 * MS, 2_147_483_647, 100 * MS,
    ]  # fmt: skip


def test_settings_count_under_either_name() -> None:
    named = _settings(plan({"acks": "all", "linger.ms": "0.25", "max.in.flight": "1", "retries": "3"})).tolist()
    assert (named[0], named[1], named[4], named[8]) == (-1, 250_000, 1, 3)
    other = {
        "request.required.acks": "-1", "queue.buffering.max.ms": "2",
        "max.in.flight.requests.per.connection": "9", "message.send.max.retries": "4",
    }  # fmt: skip
    aliased = _settings(plan(other)).tolist()
    assert _settings(plan({"acks": "0"}))[0] == 0
    assert (aliased[0], aliased[1], aliased[4], aliased[8]) == (-1, 2 * MS, 9, 4)
