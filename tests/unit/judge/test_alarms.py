"""Simulated runs of known truth: identical cells are rarely told apart, real differences are found. Seeds are fixed, so a
test fails only when the method changes; `python -m benchmarks differences` is the whole evaluation (docs/statistics.md)."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.differences import alarm_share, found_share, real_alarms, same_share
from benchmarks.simulated_runs import NOISE

from synthetic_tables import Story, write_results

RUNS = 150


@pytest.mark.parametrize("noise", NOISE)
def test_identical_cells_are_told_apart_in_few_runs(noise: str) -> None:
    """At most 5 % are promised; 150 runs of exactly 5 % show more than 10 % once in 200 tries, and the seed is fixed."""
    assert alarm_share(2, 4, noise, RUNS) <= 0.1
    assert alarm_share(5, 4, noise, RUNS) <= 0.1


def test_the_share_of_alarms_is_not_low_because_nothing_is_ever_found() -> None:
    assert found_share(5, 4, noise_share=0.02, first_is=1.2, runs=50) > 0.9
    assert 0.2 < found_share(2, 5, noise_share=0.03, first_is=1.05, runs=100) < 0.8


def test_a_tenfold_difference_in_four_repeats_is_found_in_spite_of_much_noise() -> None:
    assert found_share(2, 4, noise_share=0.2, first_is=10, runs=100) == 1
    assert found_share(5, 4, noise_share=0.2, first_is=10, runs=50) == 1


def test_identical_quiet_cells_are_the_same() -> None:
    assert same_share(5, 4, noise_share=0.001, runs=50) > 0.9
    assert same_share(5, 4, noise_share=0.1, runs=50) == 0


def test_answers_of_real_runs_are_counted_by_metric_without_those_that_could_not_be_judged(tmp_path: Path) -> None:
    judged = write_results(tmp_path / "a", Story(repeats=4, measure_s=4)).path
    too_few = write_results(tmp_path / "b", Story(repeats=2, measure_s=4)).path
    (line,) = [one for one in real_alarms([judged, too_few]).splitlines() if one.startswith("| received_per_s |")]
    _, _, judged_count, *_, not_judged, _ = [one.strip() for one in line.split("|")]
    assert (judged_count, not_judged) == ("1", "1")
