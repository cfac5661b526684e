"""Paired and unpaired contrasts against an oracle in numpy, Holm's correction, and how often identical sides differ."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from benchmarks import comparing
from hypothesis import given
from hypothesis import strategies as st

from brokerlab.judge.contrasts import Contrast, paired, repeats_to_tell, unpaired
from brokerlab.judge.differences import differences
from brokerlab.judge.estimates import ALARMS, Difference, Estimate
from brokerlab.judge.estimates import corrected as all_corrected
from compared_runs import write_measured

POSITIVE = st.floats(1e-3, 1e9)


def corrected(contrasts: Sequence[Contrast]) -> list[Difference]:
    return all_corrected([c.estimate for c in contrasts])


def _seen(variance: float) -> Contrast:
    return Contrast.of(4, 0.0, 1.0, 6.0, variance=variance, sources=2.0)


@given(st.lists(POSITIVE, min_size=2, max_size=12), st.lists(POSITIVE, min_size=2, max_size=12))
def test_unpaired_is_welch_on_logarithms_with_fewer_degrees_of_freedom(
    base: list[float], candidate: list[float]
) -> None:
    found = unpaired(base, candidate)
    assert found is not None
    a, b = np.log(np.array(base)), np.log(np.array(candidate))
    va, vb = np.var(a, ddof=1) / len(a), np.var(b, ddof=1) / len(b)
    assert found.estimate.mean == pytest.approx(b.mean() - a.mean())
    assert found.estimate.error == pytest.approx(math.sqrt(va + vb))
    if va + vb > 1e-6:
        welch = (va + vb) ** 2 / (va**2 / (len(a) - 1) + vb**2 / (len(b) - 1))
        fewest = min(len(a), len(b)) - 1
        assert found.estimate.degrees == pytest.approx(2 * welch * fewest / (welch + fewest))
        assert fewest <= found.estimate.degrees * (1 + 1e-9)


def test_pairs_cancel_what_a_whole_round_suffers() -> None:
    slow = {1: 1.0, 2: 10.0, 3: 0.1, 4: 5.0}
    found = paired({r: 100 * f for r, f in slow.items()}, {r: 120 * f for r, f in slow.items()})
    assert found is not None
    assert math.exp(found.estimate.mean) == pytest.approx(1.2)
    assert found.estimate.error == pytest.approx(0, abs=1e-12)


def test_paired_equals_the_difference_of_two_cells_of_a_run() -> None:
    rng = np.random.default_rng(1)
    base, candidate = ({r: float(np.exp(rng.normal(0, 0.1))) for r in range(1, 7)} for _ in range(2))
    contrast = paired(base, candidate)
    assert contrast is not None
    (mine,) = corrected([contrast])
    (theirs,) = differences({"candidate": candidate, "base": base})
    assert (mine.ratio, mine.chance, mine.pairs) == pytest.approx((theirs.ratio, theirs.chance, theirs.pairs))
    assert mine.interval == pytest.approx(theirs.interval)


def test_rounds_that_one_side_lacks_are_left_out() -> None:
    found = paired({1: 1.0, 2: 2.0, 5: 7.0}, {2: 4.0, 3: 1.0, 5: 14.0})
    assert found is not None
    assert (found.estimate.pairs, math.exp(found.estimate.mean)) == (2, pytest.approx(2.0))
    assert paired({1: 1.0}, {2: 1.0}) is None


def test_too_few_repeats_are_not_tested_and_do_not_burden_the_others() -> None:
    few = unpaired([1.0, 1.1, 1.2], [9.0, 9.1, 9.2])
    enough = unpaired([1.0, 1.1, 1.2, 1.3], [1.3, 1.2, 1.4, 1.5])
    assert few is not None
    assert enough is not None
    first, second = corrected([few, enough])
    assert first.chance is None
    assert second.chance == pytest.approx(enough.estimate.chance())


@given(st.lists(st.tuples(st.floats(-1, 1), st.floats(0.01, 1)), min_size=1, max_size=12))
def test_intervals_leave_out_one_exactly_where_holm_finds_a_difference(
    given_contrasts: list[tuple[float, float]],
) -> None:
    estimates = [Estimate("a", "b", 5, mean, error, 8.0) for mean, error in given_contrasts]
    found = all_corrected(estimates)
    raw = sorted(e.chance() for e in estimates)
    rejected = 0  # Holm in its textbook form
    for i, p in enumerate(raw):
        if p > ALARMS / (len(raw) - i):
            break
        rejected += 1
    assert sum(d.significant for d in found) == rejected
    for d in found:
        assert d.interval is not None
        assert d.significant == (not d.interval[0] <= 1 <= d.interval[1])


def _alarms(kind: str, metrics: int, repeats: int, noise: tuple[float, float], trials: int) -> float:
    """Share of comparisons of identical sides in which any of the metrics is told apart."""
    rng = np.random.default_rng(7)
    alarms = 0
    for _ in range(trials):
        contrasts = []
        for _ in range(metrics):
            whole_round = rng.normal(0, 0.3 if kind == "paired" else 0, repeats)
            a, b = (np.exp(whole_round + rng.normal(0, s, repeats)) for s in noise)
            contrast = (
                unpaired(a.tolist(), b.tolist())
                if kind == "unpaired"
                else paired(dict(enumerate(a.tolist())), dict(enumerate(b.tolist())))
            )
            assert contrast is not None
            contrasts.append(contrast)
        alarms += any(d.significant for d in corrected(contrasts))
    return alarms / trials


@pytest.mark.parametrize("kind", ["paired", "unpaired"])
@pytest.mark.parametrize(("metrics", "repeats"), [(1, 5), (8, 4)])
@pytest.mark.parametrize("noise", [(0.1, 0.1), (0.01, 0.1)])
def test_identical_sides_are_rarely_told_apart(
    kind: str, metrics: int, repeats: int, noise: tuple[float, float]
) -> None:
    """At most 5 % are promised. 150 trials of exactly 5 % show more than 10 % once in 200 tries, and the seed is fixed."""
    assert _alarms(kind, metrics, repeats, noise, 150) <= 0.1


def test_the_benchmark_makes_both_of_its_tables() -> None:
    text = comparing.main(["--runs", "1"])
    assert [line for line in text.splitlines() if line.startswith("| normal |")]
    assert [line for line in text.splitlines() if line.startswith("| 3%, 20% |")]


def test_the_benchmark_counts_the_answers_of_a_real_run(tmp_path: Path) -> None:
    steady = {
        "received_per_s": [1000.0, 1001.0, 999.5, 1000.5],
        "end_to_end_latency_p99_ns": [2.0e6, 2.01e6, 2.0e6, 2.02e6],
    }
    slower = {**steady, "end_to_end_latency_p99_ns": [v * 2 for v in steady["end_to_end_latency_p99_ns"]]}
    run = write_measured(tmp_path, "20261101T120000Z-x-aaaaaa", {"c01": steady, "c02": steady, "c03": slower})
    text = comparing.main(["--real", str(run.path)])
    assert "3 pairs of identical cells, 2 with any better or worse" in text
    assert "| end-to-end latency | 2 | 0 | 1 | 0 |" in text
    assert "| rates and delivery | 0 | 0 | 3 | 0 |" in text


def test_the_promised_number_of_repeats_finds_the_difference_four_times_in_five() -> None:
    rng, noise = np.random.default_rng(3), 0.04
    seen = _seen(2 * noise**2)
    n = repeats_to_tell(seen, 0.05, 1)
    assert n is not None
    hits = 0
    for _ in range(400):
        a, b = np.exp(rng.normal(0, noise, n)), 1.05 * np.exp(rng.normal(0, noise, n))
        contrast = unpaired(a.tolist(), b.tolist())
        assert contrast is not None
        hits += corrected([contrast])[0].significant
    assert 0.72 < hits / 400 < 0.9


def test_more_noise_or_more_tests_need_more_repeats_and_hopeless_noise_has_no_number() -> None:
    def needed(noise: float, tests: int) -> int | None:
        return repeats_to_tell(_seen(2 * noise**2), 0.05, tests)

    quiet, noisy, many = needed(0.01, 1), needed(0.05, 1), needed(0.05, 20)
    assert quiet is not None
    assert noisy is not None
    assert many is not None
    assert 4 <= quiet < noisy < many
    assert needed(50.0, 1) is None
    assert repeats_to_tell(Contrast.of(1, 0.0, 0.0, 0.0, variance=0.0, sources=1.0), 0.05, 1) is None
