"""`python -m benchmarks history`: how often `brokerlab history` sees changes in steady series, and finds real ones.

Simulated series of runs go through the code that looks for change points in real ones.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from brokerlab.judge.change_points import change_points

SERIES = 300
SEED = 20261117
NOISE = 0.05
LENGTHS = (8, 12, 20, 40, 100)
SEEDED = (1.02, 1.05, 1.1, 1.2)
AFTER = (3, 5, 10, 20)  # runs after the step
BEFORE = 20
NEAR = 1  # runs by which a change may be found too early or too late

Floats = npt.NDArray[np.float64]
Random = np.random.Generator


def _sticky(n: int, rng: Random, share: float) -> Floats:
    noise = rng.normal(size=n)
    for i in range(1, n):
        noise[i] = share * noise[i - 1] + np.sqrt(1 - share**2) * noise[i]
    return noise


STEADY: dict[str, Callable[[int, Random], Floats]] = {
    "normal": lambda n, rng: rng.normal(size=n),
    "skewed (lognormal)": lambda n, rng: rng.lognormal(0, 1, n),
    "outliers in 10 % of runs": lambda n, rng: rng.normal(size=n) * np.where(rng.random(n) < 0.1, 10, 1),
    "two levels at random": lambda n, rng: rng.normal(size=n) + 6 * (rng.random(n) < 0.5),
}
NOT_EXCHANGEABLE: dict[str, Callable[[int, Random], Floats]] = {
    "each run 30 % like the one before": lambda n, rng: _sticky(n, rng, 0.3),
    "each run 60 % like the one before": lambda n, rng: _sticky(n, rng, 0.6),
    "noise grows from 1 to 5 times": lambda n, rng: rng.normal(size=n) * np.linspace(1, 5, n),
}


def main(arguments: Sequence[str]) -> str:
    parser = argparse.ArgumentParser(prog="python -m benchmarks history", description=__doc__)
    parser.add_argument("--series", type=int, default=SERIES, help=f"simulated series of each kind (default {SERIES})")
    given = parser.parse_args(arguments)
    return f"{alarms(given.series)}\n{power(given.series)}\n{stretches(given.series)}"


def alarm_share(noise: str, runs: int, series: int) -> float:
    """Share of series without a change that show any."""
    rng = np.random.default_rng([SEED, runs])
    draw = (STEADY | NOT_EXCHANGEABLE)[noise]
    return sum(bool(change_points(np.exp(NOISE * draw(runs, rng)).tolist())) for _ in range(series)) / series


def found_share(noise: float, levels: Sequence[tuple[int, float]], series: int) -> float:
    """Share of series with exactly the seeded changes, each within a run of its place."""
    rng = np.random.default_rng(SEED)
    truth = np.cumsum([n for n, _ in levels])[:-1]
    hits = 0
    for _ in range(series):
        values = np.concatenate([level * np.exp(rng.normal(0, noise, n)) for n, level in levels])
        found = [p.at for p in change_points(values.tolist())]
        hits += len(found) == len(truth) and all(abs(a - b) <= NEAR for a, b in zip(found, truth, strict=True))
    return hits / series


def alarms(series: int) -> str:
    """A Markdown table."""
    lines = [
        f"Series that never changed, noise of {NOISE:.0%}: those of {series:,} with any change point.",
        "",
        *_head("noise", [f"{n} runs" for n in LENGTHS]),
    ]
    for noise in (*STEADY, *NOT_EXCHANGEABLE):
        lines.append(f"| {noise} | {' | '.join(f'{alarm_share(noise, n, series):.1%}' for n in LENGTHS)} |")
    return "\n".join([*lines, ""])


def power(series: int) -> str:
    """A Markdown table."""
    lines = [
        f"{BEFORE} runs, then a step: those of {series:,} in which exactly this change is found, within a run of its place.",
        "",
        *_head("noise, step", [f"{n} runs after it" for n in AFTER]),
    ]
    for noise in (0.01, 0.03):
        for step in SEEDED:
            shares = [f"{found_share(noise, ((BEFORE, 1.0), (n, step)), series):.0%}" for n in AFTER]
            lines.append(f"| {noise:.0%}, {step - 1:.0%} | {' | '.join(shares)} |")
    return "\n".join([*lines, ""])


def stretches(series: int) -> str:
    """A Markdown table."""
    lines = [
        f"{BEFORE} runs, a stretch of another level, {BEFORE} runs as before, noise 3%: those of {series:,} that show just that.",
        "",
        *_head("step", [f"stretch of {n} runs" for n in AFTER]),
    ]
    for step in SEEDED[1:]:
        shares = [f"{found_share(0.03, ((BEFORE, 1.0), (n, step), (BEFORE, 1.0)), series):.0%}" for n in AFTER]
        lines.append(f"| {step - 1:.0%} | {' | '.join(shares)} |")
    return "\n".join([*lines, ""])


def _head(first: str, columns: Sequence[str]) -> list[str]:
    return [f"| {first} | {' | '.join(columns)} |", f"|{'---|' * (len(columns) + 1)}"]
