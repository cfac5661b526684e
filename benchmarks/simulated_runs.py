"""Runs whose truth is known: cells that are identical, or differ by a known factor, under noise of many kinds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from brokerlab.workload.order import interleaved

Floats = npt.NDArray[np.float64]
Random = np.random.Generator


@dataclass(frozen=True)
class Shape:
    """Of a run: its cells and repeats, and when each cell ran in each repeat, as a share of the whole run."""

    cells: int
    repeats: int
    when: Floats

    @classmethod
    def of(cls, cells: int, repeats: int) -> Shape:
        order = interleaved([str(cell) for cell in range(cells)], repeats)
        when = np.empty((cells, repeats))
        for place, execution in enumerate(order):
            when[int(execution.cell), execution.repeat - 1] = place / len(order)
        return cls(cells, repeats, when)


def _even(shape: Shape, rng: Random) -> Floats:
    return rng.normal(size=shape.when.shape)


def _slow_repeats(shape: Shape, rng: Random) -> Floats:
    return _even(shape, rng) + rng.normal(0, 5, shape.repeats)


def _drift(shape: Shape, rng: Random) -> Floats:
    return _even(shape, rng) + 10 * shape.when


def _sticky(shape: Shape, rng: Random) -> Floats:
    """Each execution is 60 % like the one before it."""
    noise = rng.normal(size=shape.when.size)
    for i in range(1, len(noise)):
        noise[i] = 0.6 * noise[i - 1] + 0.8 * noise[i]
    return noise[np.argsort(np.argsort(shape.when, axis=None))].reshape(shape.when.shape)


def _skewed(shape: Shape, rng: Random) -> Floats:
    return rng.lognormal(0, 1, shape.when.shape)


def _outliers(shape: Shape, rng: Random) -> Floats:
    """One execution in ten is far slower."""
    return _even(shape, rng) + (rng.random(shape.when.shape) < 0.1) * rng.exponential(10, shape.when.shape)


def _one_noisy(shape: Shape, rng: Random) -> Floats:
    return _even(shape, rng) * np.where(np.arange(shape.cells) == 0, 10, 1)[:, None]


def _unequal(shape: Shape, rng: Random) -> Floats:
    """The noisiest cell has 30 times the noise of the quietest."""
    return _even(shape, rng) * np.geomspace(1, 30, shape.cells)[:, None]


def _unequal_outliers(shape: Shape, rng: Random) -> Floats:
    return _outliers(shape, rng) * np.geomspace(1, 30, shape.cells)[:, None]


def _gaps(shape: Shape, rng: Random) -> Floats:
    """One execution in ten has no value."""
    return np.where(rng.random(shape.when.shape) < 0.1, np.nan, _even(shape, rng))


NOISE: dict[str, Callable[[Shape, Random], Floats]] = {
    "normal": _even,
    "whole repeats differ, 5 times the noise": _slow_repeats,
    "drift over the run, 10 times the noise": _drift,
    "each execution 60 % like the one before": _sticky,
    "skewed (lognormal)": _skewed,
    "outliers in 10 % of executions": _outliers,
    "one cell with 10 times the noise": _one_noisy,
    "noise of cells from 1 to 30 times": _unequal,
    "the same with outliers": _unequal_outliers,
    "10 % of executions missing": _gaps,
}


def simulated_run(
    shape: Shape, noise: str, noise_share: float, rng: Random, first_is: float = 1.0
) -> dict[str, dict[int, float]]:
    """Values by cell and repeat: noise of `noise_share` around 1, around `first_is` in the first cell."""
    logs = noise_share * NOISE[noise](shape, rng)
    logs[0] += np.log(first_is)
    return {
        f"c{cell + 1:02d}": {repeat + 1: float(np.exp(x)) for repeat, x in enumerate(row) if not np.isnan(x)}
        for cell, row in enumerate(logs)
    }
