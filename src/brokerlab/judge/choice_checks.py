"""Guard against choosing what one likes: does what was set aside change the answer?"""

from __future__ import annotations

from collections.abc import Iterable

from brokerlab.judge.findings import Findings
from brokerlab.judge.reasons import EVERYTHING, Found, check
from brokerlab.model.metrics import JUDGED_METRICS, METRICS
from brokerlab.model.quantities import format_value


@check(
    "set_aside_matters", weight="cannot tell", cause="machine", affects=EVERYTHING,
    rule="with the executions that were set aside a median of `run_summary` would leave its interval: a rate, a count, or a"
         " latency at a quantile that is judged",
)  # fmt: skip
def set_aside_matters(f: Findings) -> Iterable[Found]:
    for row in f.summary:
        with_them = row["median_with_set_aside"]
        judged = row["set_aside"] and row["metric"] in JUDGED_METRICS
        if not judged or row["low"] <= with_them <= row["high"]:
            continue
        metric = METRICS[row["metric"]]
        median, low, high, other = (
            format_value(v, row["unit"]) for v in (row["median"], row["low"], row["high"], with_them)
        )
        text = (
            f"{row['set_aside']} executions were set aside, and they matter: {metric.words} is {median} without them and"
            f" {other} with them (interval {low} to {high})"
        )
        yield Found(row["cell"], text, with_them, affects=(metric.aspect,))
