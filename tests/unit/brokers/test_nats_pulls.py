"""How much a consumer of NATS asks for at a time."""

from __future__ import annotations

from pathlib import Path

import pytest

from brokerlab.brokers.nats.groups import PULL_FIRST, PullSize, pull_request
from brokerlab.brokers.nats.settings import PULL_BYTES, PULL_MESSAGES
from brokerlab.model.plan import AgentPlan, Durability, Endpoint, PhasesPlan, Role

STORED_IN_ONE_TURN = 10_000  # streamDefaultMaxQueueMsgs of server/stream.go


def size(destinations: int = 1, **client_settings: str) -> PullSize:
    plan = AgentPlan(
        run="r", cell="c01", repeat=1, agent="consumer-1", run_tag=9, role=Role.CONSUMER, broker="nats", driver="auto",
        endpoint=Endpoint(addresses=()), destinations=tuple(f"d{n}" for n in range(destinations)), partitions=1,
        members=(0,), producers_in_cell=1, group="g", producers=None, consumers=None,
        phases=PhasesPlan(warm_up_s=0, measure_s=1, drain_limit_s=0), client_settings=client_settings,
        durability=Durability.L4, evidence_directory=str(Path()), seed=3,
    )  # fmt: skip
    return PullSize(plan)


def test_before_the_size_is_known_little_is_asked_for() -> None:
    assert size().messages() == PULL_FIRST
    assert size(pull_messages="10").messages() == 10


def test_small_messages_are_asked_for_beyond_what_a_stream_stores_in_one_turn() -> None:
    pulls = size()
    pulls.note(200)
    assert pulls.messages() == PULL_MESSAGES
    least_open = next(credit for credit in range(PULL_MESSAGES) if not pulls.to_ask_for(credit))
    assert least_open > STORED_IN_ONE_TURN


@pytest.mark.parametrize("destinations", [1, 3])
@pytest.mark.parametrize("message_bytes", [10_000, 1_000_000, 100_000_000])
def test_large_messages_are_asked_for_by_their_bytes(message_bytes: int, destinations: int) -> None:
    pulls = size(destinations)
    for _ in range(100):
        pulls.note(message_bytes)
    asked = pulls.messages()
    assert asked >= 1
    assert asked == 1 or asked * message_bytes * destinations <= PULL_BYTES


def test_a_change_of_size_is_followed() -> None:
    pulls = size()
    for _ in range(200_000):
        pulls.note(100)
    for _ in range(500_000):
        pulls.note(100_000)
    assert pulls.messages() * 100_000 < 1.1 * PULL_BYTES


def test_a_request_is_what_jetstream_reads() -> None:
    assert pull_request(7) == b'{"batch":7,"expires":30000000000,"idle_heartbeat":1000000000}'
