from __future__ import annotations

from typing import Any

from brokerlab.cli.comparison_text import comparison_lines

LABELS = {"c01": "kafka", "c02": "nats", "c03": "redis"}


def row(metric: str, answer: str, **more: Any) -> dict[str, Any]:
    return {
        "cell_a": "c01", "cell_b": "c02", "metric": metric, "n_a": 4, "n_b": 5, "ratio": 9.876, "low": 7.0, "high": 120.4,
        "answer": answer, "same_durability": True, "pairs": 4, "chance": 0.01, "smallest_difference": 0.02, "reason": "",
    } | more  # fmt: skip


def test_each_answer_is_one_line_with_ratio_interval_and_pairs() -> None:
    near = {"ratio": 1.0004, "low": 0.9991, "high": 1.0018}
    few = {"pairs": 1, "low": None, "high": None, "chance": None, "reason": "repeats that both have: 1, needed: 4"}
    rows = [row("end_to_end_latency_p99_ns", "higher"), row("publish_latency_p99_ns", "cannot tell", **few)]
    assert comparison_lines([*rows, row("received_per_s", "same", **near)], LABELS) == [
        "  received/s:      kafka and nats are the same within 2 % (1.000× [0.999×, 1.002×], 4 pairs of repeats)",
        "  publish p99:     kafka and nats: cannot tell, repeats that both have: 1, needed: 4 (9.88×, 1 pair of repeats)",
        "  end-to-end p99:  kafka is higher than nats (9.88× [7.00×, 120×], 4 pairs of repeats)",
    ]


def test_only_like_durability_and_the_first_rate_are_shown() -> None:
    rows = [row("sent_per_s", "same"), row("received_per_s", "same"), row("agent_cpu_cores", "higher")]
    assert len(comparison_lines(rows, LABELS)) == 1
    assert comparison_lines([r | {"same_durability": False} for r in rows], LABELS) == []
    assert comparison_lines([], LABELS) == []


def test_cells_that_may_not_be_believed_are_left_to_the_verdict() -> None:
    assert len(comparison_lines([row("sent_per_s", "same")], LABELS)) == 1
    assert comparison_lines([row("sent_per_s", "cannot tell", chance=None)], LABELS) == []


def test_many_comparisons_are_cut_with_a_word_about_the_rest() -> None:
    lines = comparison_lines([row("sent_per_s", "lower")] * 11, LABELS)
    assert len(lines) == 9
    assert lines[-1] == "  ... and 3 more in the report"
