"""`python -m benchmarks compare`: how often `brokerlab compare` tells identical sides apart, and finds real differences.

Simulated values of known truth go through the code that answers for real runs.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from brokerlab import lab
from brokerlab.judge.compared import ANSWERS
from brokerlab.judge.comparison import answer
from brokerlab.judge.contrasts import Contrast, paired, unpaired
from brokerlab.judge.estimates import corrected
from brokerlab.model.plan import SmallestDifference
from brokerlab.results.directory import RunDirectory

RUNS = 400
SEED = 20261117
METRICS = 8
SMALLEST = SmallestDifference().rates
KINDS = ("cells of one run, in pairs", "two runs")
NOISE = ("normal", "one side 10 times the noise", "outliers in 10 % of executions", "skewed (lognormal)")
ALARM_NOISE = 0.1  # far above the smallest difference, which then protects from nothing
SEEDED = (1.02, 1.05, 1.1, 1.2)
REPEATS = (4, 5, 8)
FAMILIES = {"publish_latency": "publish latency", "end_to_end_latency": "end-to-end latency", "": "rates and delivery"}


def main(arguments: Sequence[str]) -> str:
    parser = argparse.ArgumentParser(prog="python -m benchmarks compare", description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS, help=f"simulated comparisons of each kind (default {RUNS})")
    parser.add_argument(
        "--real", type=Path, metavar="RUN", help="count the answers of a run of benchmarks/identical-cells.yaml"
    )
    given = parser.parse_args(arguments)
    if given.real is not None:
        return real(given.real)
    return f"{alarms(given.runs)}\n{power(given.runs)}"


def alarm_share(kind: str, noise: str, repeats: int, runs: int, noise_share: float = ALARM_NOISE) -> float:
    """Share of comparisons of identical sides in which any of the metrics is called higher or lower."""
    made = _answers(kind, noise, repeats, noise_share, 1.0, runs)
    return sum(any(said in ("higher", "lower") for said in one) for one in made) / runs


def found_share(kind: str, repeats: int, noise_share: float, candidate_is: float, runs: int) -> float:
    """Share of comparisons that find the one metric of which the candidate has more."""
    made = _answers(kind, "normal", repeats, noise_share, candidate_is, runs)
    return sum(one[0] == "higher" for one in made) / runs


def real(run: Path) -> str:
    """A Markdown table: `brokerlab compare` of every two cells of a run whose cells are identical, by family of metrics."""
    cells = [cell.cell for cell in RunDirectory(run).plan().cells]
    counts = {family: dict.fromkeys(ANSWERS, 0) for family in FAMILIES.values()}
    pairs = alarmed = 0
    for a, b in itertools.combinations(cells, 2):
        found = lab.compare(f"{run}:{a}", [f"{run}:{b}"], run.parent)
        pairs += 1
        alarmed += found.count("better") + found.count("worse") > 0
        for one in (one for cell in found.cells for one in cell.answers):
            counts[_family(one.metric)][one.answer] += 1
    lines = [
        f"{pairs} pairs of identical cells, {alarmed} with any better or worse:",
        "",
        *_head("metrics", list(ANSWERS)),
    ]
    lines += [f"| {family} | {' | '.join(str(n) for n in of.values())} |" for family, of in counts.items()]
    return "\n".join([*lines, ""])


def _family(metric: str) -> str:
    return next(family for begin, family in FAMILIES.items() if metric.startswith(begin))


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
