"""Guard against choosing what one likes: does what was set aside change the answer?"""

from __future__ import annotations

from collections.abc import Iterable

from brokerlab.judge.findings import Findings
from brokerlab.judge.reasons import EVERYTHING, Found, check
from brokerlab.model.metrics import METRICS


@check(
    "set_aside_matters", weight="cannot tell", cause="machine", affects=EVERYTHING,
    rule="with the executions that were set aside a median of `run_summary` would leave its interval",
)  # fmt: skip
def set_aside_matters(f: Findings) -> Iterable[Found]:
    for row in f.summary:
        with_them = row["median_with_set_aside"]
        if not row["set_aside"] or row["low"] <= with_them <= row["high"]:
            continue
        metric = METRICS[row["metric"]]
        text = (
            f"{row['set_aside']} executions were set aside, and they matter: {metric.words} is {row['median']:,.4g}"
            f" {row['unit']} without them and {with_them:,.4g} with them"
            f" (interval {row['low']:,.4g} to {row['high']:,.4g})"
        )
        yield Found(row["cell"], text, with_them, affects=(metric.aspect,))
