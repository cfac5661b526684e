"""What may be said of the differences between cells, for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from brokerlab.cli.text import aligned
from brokerlab.results.comparison_text import comparison_numbers, comparison_sentence
from brokerlab.results.tables import FEWEST_FOR_CLAIM

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_SHOWN_METRICS = {
    "received_per_s": "received/s",
    "backlog_received_per_s": "backlog received/s",
    "sent_per_s": "sent/s",
    "publish_latency_p99_ns": "publish p99",
    "end_to_end_latency_p99_ns": "end-to-end p99",
}
_SHOWN = 8


def comparison_lines(rows: Sequence[Mapping[str, Any]], labels: Mapping[str, str]) -> list[str]:
    """One line for each two cells of the same durability and each metric that is shown; of the rates the first there is.
    Many are cut with a word about how many more there are. Of cells that are not believed the verdict says enough."""
    alike = [r for r in rows if r["same_durability"] and r["metric"] in _SHOWN_METRICS and not _doubted(r)]
    present = [m for m in _SHOWN_METRICS if any(r["metric"] == m for r in alike)]
    rates = [m for m in present if m.endswith("_per_s")]
    shown = [m for m in present if m not in rates[1:]]
    chosen = sorted((r for r in alike if r["metric"] in shown), key=lambda r: shown.index(r["metric"]))
    table = [[f"  {_SHOWN_METRICS[r['metric']]}:", _line(r, labels)] for r in chosen[:_SHOWN]]
    more = [f"  ... and {len(chosen) - _SHOWN} more in the report"] if len(chosen) > _SHOWN else []
    return [*aligned(table), *more] if table else []


def _line(row: Mapping[str, Any], labels: Mapping[str, str]) -> str:
    return f"{comparison_sentence(row, labels[row['cell_a']], labels[row['cell_b']])} ({comparison_numbers(row)})"


def _doubted(row: Mapping[str, Any]) -> bool:
    """Whether there are enough repeats, and yet no test, because a cell is not believed."""
    return row["chance"] is None and (row["pairs"] or 0) >= FEWEST_FOR_CLAIM
