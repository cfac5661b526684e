"""Levels from settings, and settings from levels."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[3] / "contract"))
from contract_load import cell_for

from brokerlab.brokers.redis.broker import REDIS, REDIS_CLUSTER, VALKEY
from brokerlab.brokers.redis.settings import Waiting, level_of, settings_of, waiting_of
from brokerlab.model.plan import Durability, Security

L1, L2, L3, L4 = Durability
NONE, WAIT, WAITAOF = (Waiting(c, 1, 1000) for c in ("none", "WAIT", "WAITAOF"))


@pytest.mark.parametrize(
    ("waiting", "replicas", "appendonly", "appendfsync", "level"),
    [
        (WAITAOF, 2, True, "always", L1),
        (WAITAOF, 2, True, "everysec", L1),  # WAITAOF itself waits for the fsync
        (WAITAOF, 2, True, "no", L4),
        (WAITAOF, 2, False, "always", L4),
        (WAITAOF, 0, True, "always", L3),
        (WAIT, 1, True, "always", L2),
        (WAIT, 1, False, "no", L2),
        (WAIT, 0, True, "everysec", L4),
        (NONE, 2, True, "always", L3),
        (NONE, 2, True, "everysec", L4),
        (NONE, 2, False, "always", L4),
    ],
)
def test_the_level_follows_from_the_weakest_part(
    waiting: Waiting, replicas: int, appendonly: bool, appendfsync: str, level: Durability
) -> None:
    assert level_of(waiting, replicas, appendonly, appendfsync) == level


@pytest.mark.parametrize("broker", [REDIS, VALKEY, REDIS_CLUSTER])
def test_every_level_offered_has_settings_that_give_it(broker) -> None:  # type: ignore[no-untyped-def]
    for nodes, levels in broker.capabilities.durability_levels.items():
        for level in levels:
            cell = cell_for(broker.name, nodes, level)
            assert broker.problems(cell) == []
            assert broker.planned_durability(cell).level == level


def test_producers_wait_for_what_the_level_asks() -> None:
    assert waiting_of(L1, {}).command == "WAITAOF"
    assert waiting_of(L2, {"wait_replicas": "2"}) == Waiting("WAIT", 2, 10_000)
    assert waiting_of(L3, {}).command == waiting_of(L4, {}).command == "none"
    assert settings_of(cell_for("redis", 1, L3)).appendfsync == "always"
    assert settings_of(cell_for("redis", 1, L4)).appendfsync == "everysec"


@pytest.mark.parametrize(
    ("nodes", "level", "changes", "said"),
    [
        (1, L4, {"broker_settings": {"appendfsnc": "no"}}, "did you mean 'appendfsync'?"),
        (1, L4, {"broker_settings": {"appendfsync": "often"}}, "must be one of always, everysec, no"),
        (1, L4, {"broker_settings": {"maxmemory": "lots"}}, "maxmemory"),
        (1, L3, {"broker_settings": {"appendfsync": "no"}}, "give L4, not L3"),
        (1, L4, {"broker_settings": {"appendfsync": "always"}}, "give L3, not L4"),
        (3, L1, {"broker_settings": {"appendonly": "no"}}, "give L4, not L1"),
        (3, L2, {"client_settings": {"wait_replicas": "3"}}, "the 2 replicas that a master has"),
        (3, L2, {"client_settings": {"wait_replicas": "0"}}, "above 0"),
        (1, L4, {"client_settings": {"read_message": "1"}}, "did you mean 'read_messages'?"),
        (1, L4, {"security": Security(user="lab")}, "security.password"),
    ],
)
def test_what_cannot_be_is_refused_with_its_reason(
    nodes: int, level: Durability, changes: dict[str, object], said: str
) -> None:
    problems = REDIS.problems(cell_for("redis", nodes, level, **changes))
    assert any(said in str(problem) for problem in problems), problems
