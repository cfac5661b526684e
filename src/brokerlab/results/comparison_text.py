"""A row of the table `comparison` in words: the same on the terminal and in the report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def comparison_sentence(row: Mapping[str, Any], a: str, b: str) -> str:
    """What may be said of the cells labelled `a` and `b`."""
    if row["answer"] in ("higher", "lower"):
        return f"{a} is {row['answer']} than {b}"
    if row["answer"] == "same":
        return f"{a} and {b} are the same within {row['smallest_difference'] * 100:g} %"
    return f"{a} and {b}: cannot tell" + (f", {row['reason']}" if row["reason"] else "")


def comparison_numbers(row: Mapping[str, Any]) -> str:
    """1.25× [1.10×, 1.42×], 5 pairs of repeats."""
    interval = "" if row["low"] is None else f" [{_times(row['low'])}, {_times(row['high'])}]"
    pairs = min(row["n_a"], row["n_b"]) if row["pairs"] is None else row["pairs"]
    return f"{_times(row['ratio'])}{interval}, {pairs} pair{'' if pairs == 1 else 's'} of repeats"


def _times(ratio: float) -> str:
    """Three significant digits, four from 0.9 to 1.1, where small differences are asked about."""
    if 0.9 <= ratio < 1.1:
        return f"{ratio:.3f}×"
    return f"{ratio:,.0f}×" if ratio >= 100 else f"{ratio:#.3g}×"
