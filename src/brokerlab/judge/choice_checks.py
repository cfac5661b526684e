"""Guard against choosing what one likes: does what was set aside change the answer?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from brokerlab.judge.findings import Findings
from brokerlab.judge.reasons import EVERYTHING, Found, check
from brokerlab.model.metrics import JUDGED_METRICS, METRICS, WITHOUT_LATENESS
from brokerlab.model.quantities import format_value


@check(
    "set_aside_matters", weight="cannot tell", cause="machine", affects=EVERYTHING,
    rule="with the executions that were set aside a median of `run_summary` would leave its interval: a rate, a count, or a"
         " latency at a quantile that is judged. Only a note where a latency without our own lateness would not: then what was"
         " set aside differs by that lateness alone",
)  # fmt: skip
def set_aside_matters(f: Findings) -> Iterable[Found]:
    rows = {(row["cell"], row["metric"]): row for row in f.summary}
    for row in f.summary:
        with_them = row["median_with_set_aside"]
        judged = row["set_aside"] and row["metric"] in JUDGED_METRICS
        if not judged or row["low"] <= with_them <= row["high"]:
            continue
        metric = METRICS[row["metric"]]
        median, low, high, other = (
            format_value(v, row["unit"]) for v in (row["median"], row["low"], row["high"], with_them)
        )
        one = row["set_aside"] == 1
        who, them = ("1 execution was", "it") if one else (f"{row['set_aside']} executions were", "them")
        text = (
            f"{who} set aside, and {'it matters' if one else 'they matter'}: {metric.words} is {median} without {them} and"
            f" {other} with {them} (interval {low} to {high})"
        )
        if _is_only_our_lateness(rows.get((row["cell"], _without_lateness(row["metric"])))):
            yield Found(row["cell"], f"{text}: by our own lateness alone", with_them, weight="note", affects=())
        else:
            yield Found(row["cell"], text, with_them, affects=(metric.aspect,))


def _without_lateness(metric: str) -> str:
    """The same quantile of the latency from the moment of sending; empty for what is no latency."""
    latency = next((name for name in WITHOUT_LATENESS if metric.startswith(f"{name}_p")), None)
    return "" if latency is None else metric.replace(latency, WITHOUT_LATENESS[latency], 1)


def _is_only_our_lateness(from_send: Mapping[str, Any] | None) -> bool:
    return (
        from_send is not None
        and from_send["set_aside"] > 0
        and from_send["low"] <= from_send["median_with_set_aside"] <= from_send["high"]
    )
