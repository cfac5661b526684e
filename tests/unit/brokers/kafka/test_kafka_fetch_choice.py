"""Which plans the consumer that speaks for itself takes; the others are librdkafka's."""

from __future__ import annotations

import pytest

from brokerlab.brokers.kafka.driver_fetch import can_read
from brokerlab.model.plan import AgentPlan, ConsumersPlan, Durability, Endpoint, PhasesPlan, Role, Security


def plan(settings: dict[str, str], endpoint: Endpoint | None = None) -> AgentPlan:
    return AgentPlan(
        run="r", cell="c", repeat=1, agent="consumer-1", run_tag=1, role=Role.CONSUMER, broker="kafka", driver="auto",
        endpoint=endpoint or Endpoint(addresses=("127.0.0.1:1",)), destinations=("d",), partitions=1, members=(0,),
        producers_in_cell=1, group="g", producers=None,
        consumers=ConsumersPlan(groups=1, per_group=1, agents_per_group=1),
        phases=PhasesPlan(warm_up_s=0, measure_s=1, drain_limit_s=1), client_settings=settings,
        durability=Durability.L4, evidence_directory="", seed=1,
    )  # fmt: skip


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"fetch.min.bytes": "65536", "queued.min.messages": "1000000", "fetch.message.max.bytes": "4194304"},
        {"acks": "all", "linger.ms": "5", "batch.size": "16384"},  # the producers'
        {"compression.type": "none", "check.crcs": "false"},
    ],
)
def test_plain_plans_are_read_here(settings: dict[str, str]) -> None:
    assert can_read(plan(settings))


@pytest.mark.parametrize(
    "settings",
    [
        {"compression.type": "lz4"},
        {"compression.codec": "zstd"},
        {"isolation.level": "read_committed"},
        {"security.protocol": "SSL"},
        {"client.rack": "here"},
        {"debug": "fetch"},
    ],
)
def test_what_is_more_than_fetching_is_left_to_librdkafka(settings: dict[str, str]) -> None:
    assert not can_read(plan(settings))


def test_security_is_left_to_librdkafka() -> None:
    assert not can_read(plan({}, Endpoint(addresses=("127.0.0.1:1",), security=Security(tls=True))))
    assert not can_read(plan({}, Endpoint(addresses=("127.0.0.1:1",), options={"security.protocol": "SSL"})))
