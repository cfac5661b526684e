"""What may be said of the difference between two cells: rows of the table `comparison`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import combinations
from typing import Any, Literal

from brokerlab.judge.differences import differences
from brokerlab.judge.estimates import Difference
from brokerlab.judge.figures import Figures
from brokerlab.judge.summary import computed_durability
from brokerlab.model.environment import Environment
from brokerlab.model.metrics import COUNTS, FROM_SEND, METRICS
from brokerlab.model.plan import RunPlan, SmallestDifference
from brokerlab.results.tables import FEWEST_FOR_CLAIM

Answer = Literal["higher", "lower", "same", "cannot tell"]
Values = dict[str, dict[int, float]]  # cell -> round -> value, of one metric
Believes = Callable[[str, str], bool]  # cell, metric


def comparison(
    figures: Figures, plan: RunPlan, environment: Environment, believes: Believes = lambda _cell, _metric: True
) -> list[dict[str, Any]]:
    """Every two cells of the plan in every metric both have. `figures` are by round: values of one round are a pair.

    Where a cell is not believed in a metric, it gets no answer, and has no part in the noise and number of comparisons of
    others. Counts of faults are not compared: most are zero, and zero has no ratio; nor are latencies from send, which would
    ask every question about latency twice, nor metrics that are compared on request only.
    """
    place = {cell.cell: i for i, cell in enumerate(plan.cells)}
    levels = {c.cell: computed_durability(environment, c.cell) or c.durability.value for c in plan.cells}
    rows = []
    for metric in {metric for _, metric in figures if is_compared(metric)}:
        values = _comparable(figures, plan, metric)
        smallest = smallest_difference(plan.smallest_difference, metric)
        believed = {cell: believes(cell, metric) for cell in values}
        for found in _differences(values, believed):
            doubted = [cell for cell in (found.cell_a, found.cell_b) if not believed[cell]]
            said, reason = _doubtful(doubted) if doubted else answer(found, smallest)
            low, high = found.interval or (None, None)
            rows.append(
                {
                    "cell_a": found.cell_a, "cell_b": found.cell_b, "metric": metric,
                    "n_a": len(values[found.cell_a]), "n_b": len(values[found.cell_b]), "ratio": found.ratio,
                    "low": low, "high": high, "answer": said,
                    "same_durability": levels[found.cell_a] == levels[found.cell_b],
                    "pairs": found.pairs, "chance": None if doubted else found.chance,
                    "smallest_difference": smallest, "reason": reason,
                }
            )  # fmt: skip
    return sorted(rows, key=lambda r: (place[r["cell_a"]], place[r["cell_b"]], r["metric"]))


def is_compared(metric: str) -> bool:
    return metric not in COUNTS and not metric.startswith(FROM_SEND) and METRICS[metric].compared


def smallest_difference(of: SmallestDifference, metric: str) -> float:
    """The share from which a difference in `metric` is worth calling."""
    return of.latencies if metric.endswith("_ns") else of.rates


def _comparable(figures: Figures, plan: RunPlan, metric: str) -> Values:
    of_cells = {cell.cell: figures.get((cell.cell, metric), {}) for cell in plan.cells}
    return {cell: values for cell, values in of_cells.items() if values and min(values.values()) > 0}


def _differences(values: Values, believed: Mapping[str, bool]) -> Iterable[Difference]:
    """Of the cells that are believed together; of any other two by themselves."""
    yield from differences({cell: of for cell, of in values.items() if believed[cell]})
    for a, b in combinations(values, 2):
        if not (believed[a] and believed[b]):
            yield from differences({a: values[a], b: values[b]})


def answer(found: Difference, smallest: float) -> tuple[Answer, str]:
    """What may be said of a difference, and for "cannot tell" why. `smallest` is the share worth calling."""
    if found.chance is None or found.interval is None:
        return "cannot tell", f"repeats that both have: {found.pairs}, needed: {FEWEST_FOR_CLAIM}"
    least, most = 1 / (1 + smallest), 1 + smallest
    if found.significant and not least < found.ratio < most:
        return ("higher" if found.ratio > 1 else "lower"), ""
    if least <= found.interval[0] and found.interval[1] <= most:
        return "same", ""
    if found.significant:
        return "cannot tell", f"they differ, but perhaps by less than {smallest * 100:g} %"
    return "cannot tell", "the difference is not larger than the noise"


def _doubtful(cells: list[str]) -> tuple[Answer, str]:
    return "cannot tell", f"the verdict on {' and '.join(cells)} is not valid"
