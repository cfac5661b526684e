"""Objectives as written to checked ones."""

from __future__ import annotations

import pytest

from brokerlab.workload.objectives import ObjectiveError, parse_objective


@pytest.mark.parametrize(
    ("text", "measure", "quantile", "comparison", "limit"),
    [
        ("p99(end_to_end_latency) < 20ms", "end_to_end_latency", 0.99, "<", 20e6),
        ("p99.9( publish_latency )<=1s", "publish_latency", 0.999, "<=", 1e9),
        ("p50(send_delay) < 300us", "send_delay", 0.5, "<", 300e3),
        ("max(end_to_end_latency) < 2s", "end_to_end_latency", 1.0, "<", 2e9),
        ("lost == 0", "lost", None, "==", 0),
        ("duplicated <= 1_000", "duplicated", None, "<=", 1000),
        ("throughput >= 10_000/s", "throughput", None, ">=", 10_000),
    ],
)
def test_objectives_are_read_with_their_units(text, measure, quantile, comparison, limit):
    got = parse_objective(text)
    assert (got.measure, got.quantile, got.comparison, got.limit) == (measure, quantile, comparison, limit)


@pytest.mark.parametrize(
    ("text", "message", "nearest"),
    [
        ("fast please", "must look like `p99", None),
        ("losst == 0", "losst is not measured", "lost"),
        ("p99(end_to_end) < 1ms", "end_to_end is not measured", "end_to_end_latency"),
        ("publish_latency < 1ms", "needs a quantile", "p99(publish_latency)"),
        ("p99(lost) == 0", "lost has no quantiles", "lost"),
        ("p99(send_delay) < 20", "must be a duration", None),
        ("throughput > 20", "must be a rate", None),
        ("lost == 3s", "plain number", None),
        ("p101(send_delay) < 1s", "not a percentile", None),
    ],
)
def test_what_is_no_objective_is_refused_with_what_was_meant(text, message, nearest):
    with pytest.raises(ObjectiveError) as caught:
        parse_objective(text)
    assert message in str(caught.value)
    assert caught.value.nearest == nearest
