"""Faults as written in a workload, and the draws that follow from them."""

from __future__ import annotations

import numpy as np
import pytest

from brokerlab.brokers.faulty.draws import NONE, draw_delays_ns, draw_faults
from brokerlab.brokers.faulty.server import damaged
from brokerlab.brokers.faulty.settings import SHARES, Delay, Faults, Stall, parse_delay, parse_faults, problems
from brokerlab.model.header import HEADER, HEADER_BYTES
from brokerlab.model.plan import (
    CellPlan,
    ConsumersPlan,
    Durability,
    PayloadPlan,
    PhasesPlan,
    ProducersPlan,
    SchedulePlan,
)

N = 200_000


def headers(n: int = N) -> np.ndarray:
    made = np.zeros(n, HEADER)
    made["partition"] = np.arange(n) % 8
    made["sequence"] = np.arange(n) // 8
    return made


def test_settings_are_read_as_written() -> None:
    faults = parse_faults({"delay": "lognormal(2ms, 0.5)", "stall": "at 3s for 1.5s", "loss": "0.001", "seed": "9"})
    assert faults == Faults(
        seed=9, delay=Delay("lognormal", 2e6, 0.5), stall=Stall(3_000_000_000, 1_500_000_000), loss=0.001
    )
    assert parse_delay("constant(5ms)") == Delay("constant", 5e6)
    assert parse_delay("uniform(1ms, 9ms)") == Delay("uniform", 1e6, 9e6)


def cell(broker_settings: dict[str, str], client_settings: dict[str, str] | None = None) -> CellPlan:
    return CellPlan(
        cell="c01",
        label="",
        broker="faulty",
        nodes=1,
        durability=Durability.L4,
        destinations=1,
        partitions=1,
        producers=ProducersPlan(count=1, agents=1, schedule=SchedulePlan(rate_per_s=1), payload=PayloadPlan()),
        consumers=ConsumersPlan(groups=1, per_group=1, agents_per_group=1),
        phases=PhasesPlan(warm_up_s=0, measure_s=1, drain_limit_s=1),
        parameters={},
        broker_settings=broker_settings,
        client_settings=client_settings or {},
    )


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"los": "0.1"}, "did you mean 'loss'"),
        ({"loss": "2"}, "between 0 and 1"),
        ({"loss": "nan"}, "must be a number"),
        ({"loss": "0.6", "corruption": "0.6"}, "must not exceed 1"),
        ({"delay": "gamma(1ms)"}, "lognormal"),
        ({"delay": "constant(1ms, 2ms)"}, "takes"),
        ({"delay": "constant(5)"}, "duration"),
        ({"delay": "uniform(9ms, 1ms)"}, "below the first"),
        ({"stall": "3s"}, "at 3s for 1s"),
        ({"seed": "-1"}, "whole number"),
        ({"retain_mib": "x"}, "MiB"),
    ],
)
def test_what_cannot_be_understood_is_said(settings: dict[str, str], said: str) -> None:
    (problem,) = problems(cell(settings))
    assert said in str(problem)


def test_all_problems_are_reported_together() -> None:
    assert len(problems(cell({"loss": "x", "stall": "y", "dela": "z"}, {"window": "1"}))) == 4


def test_shares_are_drawn_as_often_as_asked_and_never_two_on_one_message() -> None:
    faults = Faults(seed=3, loss=0.01, duplication=0.02, reordering=0.03, corruption=0.04, reject=0.05, drop_ack=0.06)
    drawn = np.bincount(draw_faults(faults, headers()), minlength=7)
    expected = np.array([getattr(faults, name) for name in SHARES]) * N
    assert np.all(np.abs(drawn[1:] - expected) < 5 * np.sqrt(expected))


def test_a_share_of_one_hits_every_message_and_of_none_no_message() -> None:
    assert not bool((draw_faults(Faults(loss=1.0), headers(1000)) == NONE).any())
    assert bool((draw_faults(Faults(), headers(1000)) == NONE).all())


def test_draws_depend_on_the_message_not_on_how_blocks_are_cut() -> None:
    faults, whole = Faults(seed=5, loss=0.1, delay=Delay("lognormal", 1e6, 0.5)), headers(1000)
    parts = np.concatenate([draw_faults(faults, whole[:333]), draw_faults(faults, whole[333:])])
    assert np.array_equal(parts, draw_faults(faults, whole))
    assert not np.array_equal(draw_delays_ns(5, faults.delay, whole), draw_delays_ns(6, faults.delay, whole))


def test_delays_follow_their_distribution() -> None:
    delays = draw_delays_ns(1, Delay("lognormal", 2e6, 0.5), headers())
    assert np.median(delays) == pytest.approx(2e6, rel=0.01)
    assert np.std(np.log(delays)) == pytest.approx(0.5, rel=0.01)
    uniform = draw_delays_ns(1, Delay("uniform", 1e6, 9e6), headers())
    assert uniform.min() >= 1e6
    assert uniform.max() <= 9e6
    assert uniform.mean() == pytest.approx(5e6, rel=0.01)


@pytest.mark.parametrize("size", [HEADER_BYTES, 49, 200])
def test_damage_leaves_the_header_readable_but_never_the_message_intact(size: int) -> None:
    message = bytes(range(size % 256)).ljust(size, b"x")
    changed = damaged(message)
    assert changed[:32] == message[:32]
    assert len(changed) == len(message)
    assert changed != message
