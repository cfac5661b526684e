"""A latency that is partly our own lateness is shown as a range."""

from __future__ import annotations

from typing import Any

from brokerlab.cli.verdict_text import summary_lines
from brokerlab.results.lateness_text import latency_ranges


def row(metric: str, median: float) -> dict[str, Any]:
    return {
        "cell": "c01", "label": "nats", "durability": "L4", "metric": metric, "n": 4, "median": median, "low": median,
        "high": median, "set_aside": 0,
    }  # fmt: skip


def test_only_what_lateness_raises_visibly_is_a_range() -> None:
    summary = [
        row("end_to_end_latency_p99_ns", 3e6), row("end_to_end_latency_from_send_p99_ns", 2e6),
        row("end_to_end_latency_p50_ns", 1.04e6), row("end_to_end_latency_from_send_p50_ns", 1e6),
        row("publish_latency_p99_ns", 3e6), row("sent_per_s", 100.0),
    ]  # fmt: skip
    found = latency_ranges(summary)
    assert {key: r.without_ns for key, r in found.items()} == {("c01", "end_to_end_latency_p99_ns"): 2e6}
    assert "  nats without our own lateness: end-to-end p99 2.00 ms" in summary_lines(summary)
