"""`python -m benchmarks differences`: how often identical cells are told apart, and how often real differences are found.

Simulated: runs of known truth (simulated_runs.py) through the code that answers for real runs.
With `--real RUN ...`: the answers in runs of identical cells on a real broker; identical-cells.yaml makes one.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from benchmarks.simulated_runs import NOISE, Shape, simulated_run
from brokerlab.judge.comparison import Answer, answer
from brokerlab.judge.differences import differences
from brokerlab.judge.estimates import Difference
from brokerlab.model.plan import SmallestDifference
from brokerlab.results.directory import RunDirectory
from brokerlab.results.reader import read_rows
from brokerlab.results.tables import COMPARISON

RUNS = 1000
SEED = 20261117
SMALLEST = SmallestDifference().rates
ALARM_NOISE = 0.1  # far above the smallest difference, which then protects from nothing
ALARM_SHAPES = ((2, 4), (2, 8), (3, 4), (6, 4), (6, 5), (12, 4), (12, 8))  # (cells, repeats)
FOUND_SHAPES = ((2, 4), (2, 5), (2, 8), (6, 4), (6, 5), (6, 8))
FOUND_NOISE = (0.01, 0.03, 0.1)
SEEDED = (1.05, 1.1, 1.2, 10.0)
TOLD_APART = ("higher", "lower")


def main(arguments: Sequence[str]) -> str:
    parser = argparse.ArgumentParser(prog="python -m benchmarks differences", description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS, help=f"simulated runs of each kind (default {RUNS})")
    parser.add_argument("--real", nargs="+", type=Path, metavar="RUN", help="directories of runs of identical cells")
    given = parser.parse_args(arguments)
    return real_alarms(given.real) if given.real else f"{alarms(given.runs)}\n{found(given.runs)}"


def answers(
    cells: int, repeats: int, noise: str, noise_share: float, runs: int, first_is: float = 1.0
) -> Iterator[list[tuple[Difference, Answer]]]:
    """Of each simulated run, every comparison with its answer. The same arguments give the same runs."""
    rng = np.random.default_rng([SEED, cells, repeats])
    shape = Shape.of(cells, repeats)
    for _ in range(runs):
        compared = differences(simulated_run(shape, noise, noise_share, rng, first_is))
        yield [(difference, answer(difference, SMALLEST)[0]) for difference in compared]


def alarm_share(cells: int, repeats: int, noise: str, runs: int) -> float:
    """Share of runs of identical cells in which any two cells are told apart."""
    made = answers(cells, repeats, noise, ALARM_NOISE, runs)
    return sum(any(said in TOLD_APART for _, said in one) for one in made) / runs


def found_share(cells: int, repeats: int, noise_share: float, first_is: float, runs: int) -> float:
    """Share of comparisons with the first cell that say it is higher, where it is by `first_is`."""
    made = answers(cells, repeats, "normal", noise_share, runs, first_is)
    said = [said for one in made for difference, said in one if difference.cell_a == "c01"]
    return sum(one == "higher" for one in said) / len(said)


def same_share(cells: int, repeats: int, noise_share: float, runs: int) -> float:
    """Share of comparisons of identical cells that say they are the same."""
    said = [said for one in answers(cells, repeats, "normal", noise_share, runs) for _, said in one]
    return sum(one == "same" for one in said) / len(said)


def alarms(runs: int) -> str:
    """A Markdown table."""
    lines = [
        f"Identical cells, noise of {ALARM_NOISE:.0%}: runs of {runs:,} in which any two cells were told apart.",
        "",
        *_head("noise", ALARM_SHAPES),
    ]
    for noise in NOISE:
        shares = [alarm_share(cells, repeats, noise, runs) for cells, repeats in ALARM_SHAPES]
        lines.append(f"| {noise} | " + " | ".join(f"{share:.1%}" for share in shares) + " |")
    return "\n".join([*lines, ""])


def found(runs: int) -> str:
    """A Markdown table."""
    lines = [
        f"The first cell is higher than all others, noise normal: comparisons with it that say so ({runs:,} runs each).",
        "",
        *_head("noise, difference", FOUND_SHAPES),
    ]
    for noise_share in FOUND_NOISE:
        for first_is in SEEDED:
            shares = [found_share(cells, repeats, noise_share, first_is, runs) for cells, repeats in FOUND_SHAPES]
            difference = f"{first_is - 1:.0%}" if first_is < 2 else f"{first_is:.0f} times"
            lines.append(f"| {noise_share:.0%}, {difference} | " + " | ".join(f"{s:.0%}" for s in shares) + " |")
    for noise_share in (0.002, *FOUND_NOISE[:1]):
        shares = [same_share(cells, repeats, noise_share, runs) for cells, repeats in FOUND_SHAPES]
        lines.append(f"| {noise_share:.1%}, none: `same` | " + " | ".join(f"{s:.0%}" for s in shares) + " |")
    return "\n".join([*lines, ""])


def _head(first: str, shapes: Sequence[tuple[int, int]]) -> list[str]:
    columns = " | ".join(f"{cells} cells, {repeats} repeats" for cells, repeats in shapes)
    return [f"| {first} | {columns} |", "|---|" + "---|" * len(shapes)]


def real_alarms(runs: Sequence[Path]) -> str:
    """A Markdown table of the answers in runs of identical cells, by metric. Of cells that are not valid, or have too few
    repeats, there is no answer: they do not count."""
    counted: dict[str, Counter[str]] = {}
    for run in runs:
        for row in read_rows(RunDirectory(run), COMPARISON):
            counted.setdefault(row["metric"], Counter())["not judged" if row["chance"] is None else row["answer"]] += 1
    lines = [
        f"Identical cells in {len(runs)} real run{'' if len(runs) == 1 else 's'}: answers by metric.",
        "",
        "| metric | judged | told apart | same | cannot tell | share told apart | not judged |",
        "|---|---|---|---|---|---|---|",
    ]
    for metric, said in sorted(counted.items()):
        apart, judged = said["higher"] + said["lower"], said.total() - said["not judged"]
        share = f"{apart / judged:.1%}" if judged else "-"
        numbers = (judged, apart, said["same"], said["cannot tell"], share, said["not judged"])
        lines.append(f"| {metric} | " + " | ".join(map(str, numbers)) + " |")
    return "\n".join([*lines, ""])
