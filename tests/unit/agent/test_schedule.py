"""Due times: exact, monotone, independent of the chunk they are asked in."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brokerlab.agent.schedule import SECOND_NS, Schedule
from brokerlab.model.plan import PhasesPlan, SchedulePlan

PHASES = PhasesPlan(warm_up_s=1, measure_s=4, drain_limit_s=1)
END_NS = 5 * SECOND_NS

rates = st.one_of(st.integers(1, 5000).map(float), st.floats(0.5, 5000, allow_nan=False))
plans = st.one_of(
    st.builds(SchedulePlan, arrival=st.just("uniform"), rate_per_s=rates),
    st.builds(SchedulePlan, arrival=st.just("poisson"), rate_per_s=rates),
    st.builds(
        SchedulePlan,
        arrival=st.just("burst"),
        rate_per_s=st.one_of(st.just(0.0), rates),
        burst_rate_per_s=rates,
        burst_s=st.floats(0.01, 0.5),
        burst_every_s=st.floats(0.5, 3),
    ),
    st.builds(
        SchedulePlan,
        arrival=st.just("ramp"),
        rate_per_s=st.one_of(st.just(0.0), rates),
        ramp_to_rate_per_s=st.one_of(st.just(0.0), rates),
    ),
)


def schedule(
    plan: SchedulePlan, *, seed: int = 7, producer: int = 0, producers: int = 1, messages: int | None = None
) -> Schedule:
    return Schedule(plan, PHASES, seed=seed, producer=producer, producers=producers, messages=messages)


def everything(of: Schedule, chunk: int = 1000) -> np.ndarray:
    parts = []
    while len(part := of.due_offsets_ns(chunk)):
        parts.append(part)
    return np.concatenate([np.empty(0, np.int64), *parts])


def steady(rate: float) -> SchedulePlan:
    return SchedulePlan(arrival="uniform", rate_per_s=rate)


@settings(deadline=None)
@given(plan=plans, messages=st.integers(1, 20_000), chunk=st.integers(100, 3000))
def test_a_number_of_messages_ends_the_measure_phase_and_changes_nothing_before(plan, messages, chunk):
    whole = everything(schedule(plan))
    warming_up = int((whole < SECOND_NS).sum())
    of = schedule(plan, messages=messages)
    assert everything(of, chunk).tolist() == whole[: warming_up + messages].tolist()
    assert of.due_offsets_ns(10).tolist() == []
    assert of.expected_by(END_NS) <= schedule(plan).expected_by(SECOND_NS) + messages


@given(plan=plans, producer=st.integers(0, 6), chunks=st.lists(st.integers(1, 700), min_size=1, max_size=8))
def test_chunks_of_any_size_give_the_identical_sequence(plan, producer, chunks):
    whole = schedule(plan, producer=producer, producers=7).due_offsets_ns(sum(chunks))
    cut = schedule(plan, producer=producer, producers=7)
    pieces = np.concatenate([cut.due_offsets_ns(n) for n in chunks])
    assert pieces.dtype == np.int64
    assert pieces.tolist() == whole.tolist()


@given(plan=plans)
def test_due_times_never_decrease_and_end_before_the_end_of_measure(plan):
    times = everything(schedule(plan))
    assert (np.diff(times) >= 0).all()
    assert (times >= 0).all()
    assert (times < END_NS).all()


def test_after_the_end_nothing_more_is_due():
    ended = schedule(steady(10))
    assert len(ended.due_offsets_ns(1000)) == 50
    assert len(ended.due_offsets_ns(1)) == 0


@given(rate=st.fractions(Fraction(1, 10), 10_000, max_denominator=1000), skip=st.integers(0, 10**6))
def test_a_uniform_message_is_due_at_exactly_the_floor_of_its_number_over_the_rate(rate, skip):
    long = Schedule(
        steady(float(rate)),
        PhasesPlan(warm_up_s=0, measure_s=1e8, drain_limit_s=0),
        seed=0,
        producer=0,
        producers=1,
    )
    if skip:
        long.due_offsets_ns(skip)
    expected = [int(Fraction(i * SECOND_NS) / rate) for i in range(skip, skip + 20)]
    assert long.due_offsets_ns(20).tolist() == expected


def test_uniform_does_not_drift_over_a_day_at_a_third_of_ten_thousand():
    day = Schedule(
        steady(10_000 / 3),
        PhasesPlan(warm_up_s=0, measure_s=90_000, drain_limit_s=0),
        seed=0,
        producer=0,
        producers=1,
    )
    for _ in range(288):
        last = day.due_offsets_ns(1_000_000)[-1]
    assert int(last) == (288_000_000 - 1) * 3 * SECOND_NS // 10_000


@given(rate=st.integers(1, 5000))
def test_uniform_counts_every_second_alike(rate):
    times = everything(schedule(steady(rate)))
    assert np.bincount(times // SECOND_NS).tolist() == [rate] * 5


def test_uniform_producers_are_staggered_to_look_like_one():
    each = [everything(schedule(steady(1000), producer=p, producers=4)) for p in range(4)]
    together = np.sort(np.concatenate(each))
    assert together.tolist() == everything(schedule(steady(4000))).tolist()


def test_poisson_has_exponential_gaps_of_the_asked_mean():
    long = PhasesPlan(warm_up_s=0, measure_s=1000, drain_limit_s=0)
    plan = SchedulePlan(arrival="poisson", rate_per_s=1000)
    times = Schedule(plan, long, seed=3, producer=0, producers=1).due_offsets_ns(200_000)
    gaps = np.sort(np.diff(times)) / 1e6  # in mean gaps
    # Kolmogorov-Smirnov distance; 1.63 / sqrt(n) is passed by chance in 1 % of seeds, and this seed is fixed.
    expected = 1 - np.exp(-gaps)
    distance = np.abs(expected - np.arange(len(gaps)) / len(gaps)).max()
    assert distance < 1.63 / np.sqrt(len(gaps))
    assert gaps.mean() == pytest.approx(1, rel=0.01)
    per_second = np.bincount(times // SECOND_NS)[:-1]
    assert per_second.var() / per_second.mean() == pytest.approx(1, abs=0.35)


def test_poisson_differs_by_producer_and_seed_but_not_by_repetition():
    plan = SchedulePlan(arrival="poisson", rate_per_s=1000)
    first = schedule(plan).due_offsets_ns(50).tolist()
    assert schedule(plan).due_offsets_ns(50).tolist() == first
    assert schedule(plan, producer=1, producers=2).due_offsets_ns(50).tolist() != first
    assert schedule(plan, seed=8).due_offsets_ns(50).tolist() != first


def test_burst_sends_its_rate_for_its_time_and_the_base_rate_otherwise():
    plan = SchedulePlan(arrival="burst", rate_per_s=100, burst_rate_per_s=1000, burst_s=0.5, burst_every_s=2.5)
    times = everything(schedule(plan))
    halves = np.bincount(times // (SECOND_NS // 2), minlength=10)
    assert halves.tolist() == pytest.approx([500, 50, 50, 50, 50, 500, 50, 50, 50, 50], abs=1)
    assert len(times) == pytest.approx(1400, abs=1)


def test_burst_over_silence_sends_only_in_the_burst():
    plan = SchedulePlan(arrival="burst", rate_per_s=0, burst_rate_per_s=1000, burst_s=0.5, burst_every_s=2.5)
    times = everything(schedule(plan))
    assert len(times) == 1000
    assert (times % (5 * SECOND_NS // 2) < SECOND_NS // 2).all()


@pytest.mark.parametrize(("start", "end"), [(0, 1000), (1000, 0), (200, 800), (500, 500)])
def test_ramp_changes_linearly_over_warm_up_and_measure(start, end):
    plan = SchedulePlan(arrival="ramp", rate_per_s=start, ramp_to_rate_per_s=end)
    per_second = np.bincount(everything(schedule(plan)) // SECOND_NS, minlength=5)
    middle = [start + (end - start) * (s + 0.5) / 5 for s in range(5)]
    assert per_second.tolist() == pytest.approx(middle, abs=1)


def test_a_closed_loop_has_no_schedule():
    with pytest.raises(ValueError, match="closed loop"):
        schedule(SchedulePlan(arrival="closed", window=10))


@pytest.mark.parametrize(
    "plan",
    [
        SchedulePlan(rate_per_s=1_000),
        SchedulePlan(arrival="burst", rate_per_s=100, burst_rate_per_s=5_000, burst_s=0.5, burst_every_s=2.0),
        SchedulePlan(arrival="ramp", rate_per_s=0, ramp_to_rate_per_s=4_000),
    ],
)
@pytest.mark.parametrize("elapsed_s", [0.0, 0.3, 1.7, 4.0, 9.0])
def test_how_many_are_due_is_known_without_making_their_times(plan: SchedulePlan, elapsed_s: float) -> None:
    phases = PhasesPlan(warm_up_s=1.0, measure_s=4.0, drain_limit_s=1.0)
    schedule = Schedule(plan, phases, seed=1, producer=0, producers=1)
    due = Schedule(plan, phases, seed=1, producer=0, producers=1).due_offsets_ns(100_000)
    assert abs(schedule.expected_by(round(elapsed_s * 1e9)) - int((due <= elapsed_s * 1e9).sum())) <= 1
