"""`python -m benchmarks compare`: how often `brokerlab compare` tells identical sides apart, and finds real differences.

Simulated values of known truth go through the code that answers for real runs.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence

import numpy as np

from brokerlab.judge.comparison import answer
from brokerlab.judge.contrasts import Contrast, paired, unpaired
from brokerlab.judge.estimates import corrected
from brokerlab.model.plan import SmallestDifference

RUNS = 400
SEED = 20261117
METRICS = 8
SMALLEST = SmallestDifference().rates
KINDS = ("cells of one run, in pairs", "two runs")
NOISE = ("normal", "one side 10 times the noise", "outliers in 10 % of executions", "skewed (lognormal)")
ALARM_NOISE = 0.1  # far above the smallest difference, which then protects from nothing
SEEDED = (1.02, 1.05, 1.1, 1.2)
REPEATS = (4, 5, 8)


def main(arguments: Sequence[str]) -> str:
    parser = argparse.ArgumentParser(prog="python -m benchmarks compare", description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS, help=f"simulated comparisons of each kind (default {RUNS})")
    given = parser.parse_args(arguments)
    return f"{alarms(given.runs)}\n{power(given.runs)}"


def alarm_share(kind: str, noise: str, repeats: int, runs: int, noise_share: float = ALARM_NOISE) -> float:
    """Share of comparisons of identical sides in which any of the metrics is called higher or lower."""
    made = _answers(kind, noise, repeats, noise_share, 1.0, runs)
    return sum(any(said in ("higher", "lower") for said in one) for one in made) / runs


def found_share(kind: str, repeats: int, noise_share: float, candidate_is: float, runs: int) -> float:
    """Share of comparisons that find the one metric of which the candidate has more."""
    made = _answers(kind, "normal", repeats, noise_share, candidate_is, runs)
    return sum(one[0] == "higher" for one in made) / runs


def alarms(runs: int) -> str:
    """A Markdown table."""
    columns = [(kind, repeats) for kind in KINDS for repeats in REPEATS]
    lines = [
        f"Identical sides, {METRICS} metrics, noise of {ALARM_NOISE:.0%}: comparisons of {runs:,} with any alarm.",
        "",
        *_head("noise", [f"{kind}, {repeats} repeats" for kind, repeats in columns]),
    ]
    for noise in NOISE:
        shares = [f"{alarm_share(kind, noise, repeats, runs):.1%}" for kind, repeats in columns]
        lines.append(f"| {noise} | {' | '.join(shares)} |")
    return "\n".join([*lines, ""])


def power(runs: int) -> str:
    """A Markdown table."""
    columns = [(kind, repeats) for kind in KINDS for repeats in REPEATS]
    lines = [
        f"One of {METRICS} metrics differs, noise normal: comparisons of {runs:,} that find it.",
        "",
        *_head("noise, difference", [f"{kind}, {repeats} repeats" for kind, repeats in columns]),
    ]
    for noise_share in (0.01, 0.03):
        for is_ in SEEDED:
            shares = [f"{found_share(kind, repeats, noise_share, is_, runs):.0%}" for kind, repeats in columns]
            lines.append(f"| {noise_share:.0%}, {is_ - 1:.0%} | {' | '.join(shares)} |")
    return "\n".join([*lines, ""])


def _head(first: str, columns: Sequence[str]) -> list[str]:
    return [f"| {first} | {' | '.join(columns)} |", f"|{'---|' * (len(columns) + 1)}"]


def _answers(
    kind: str, noise: str, repeats: int, noise_share: float, candidate_is: float, runs: int
) -> Iterator[list[str]]:
    """Of each comparison, what is said of every metric; of the first the candidate has `candidate_is` times as much."""
    rng = np.random.default_rng([SEED, repeats])
    for _ in range(runs):
        contrasts = [
            _contrast(kind, noise, repeats, noise_share, candidate_is if m == 0 else 1.0, rng) for m in range(METRICS)
        ]
        yield [answer(found, SMALLEST)[0] for found in corrected([c.estimate for c in contrasts])]


def _contrast(
    kind: str, noise: str, repeats: int, noise_share: float, candidate_is: float, rng: np.random.Generator
) -> Contrast:
    base, candidate = (_noise(noise, repeats, rng) * noise_share for _ in range(2))
    if noise == NOISE[1]:
        base = base / 10
    candidate = candidate + np.log(candidate_is)
    if kind == KINDS[0]:
        whole_repeat = rng.normal(0, 5 * noise_share, repeats)
        a, b = np.exp(base + whole_repeat), np.exp(candidate + whole_repeat)
        found = paired(dict(enumerate(a.tolist())), dict(enumerate(b.tolist())))
    else:
        found = unpaired(np.exp(base).tolist(), np.exp(candidate).tolist())
    assert found is not None
    return found


def _noise(kind: str, repeats: int, rng: np.random.Generator) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    normal = rng.normal(0, 1, repeats)
    if kind == NOISE[2]:
        return np.asarray(np.where(rng.random(repeats) < 0.1, 10 * normal, normal))
    return np.asarray(np.exp(normal) if kind == NOISE[3] else normal)
