"""Every execution by itself: what the medians of the headline are made of, and how even its rates were."""

from __future__ import annotations

from brokerlab.report import figures
from brokerlab.report.grid import Cell, grid
from brokerlab.report.markup import Child, Html, tag
from brokerlab.report.source import Source

_COLUMNS = {
    "sent_per_s": "Sent rate",
    "sent_peak_per_s": "Busiest second",
    "sent_variation": "Variation",
    "received_per_s": "Received rate",
    "received_peak_per_s": "Busiest second",
    "received_variation": "Variation",
    "received_per_sent": "Received / sent",
    "backlog_received_per_s": "Backlog received",
    "publish_latency_p95_ns": "Publish p95",
    "end_to_end_latency_p95_ns": "End-to-end p95",
}
_CAPTION = (
    "Measure phase. Variation is the standard deviation of the whole seconds divided by their mean; received / sent is the mean"
    " of the groups. Grey: set aside, not in the medians."
)


def repeats_details(source: Source) -> Html | None:
    """A table that opens, or nothing where no execution has figures."""
    values = {(r["cell"], r["repeat"], r["metric"]): r for r in source.table("execution_figure").rows()}
    shown = [m for m in _COLUMNS if any(metric == m for _, _, metric in values)]
    executions = sorted({(cell, repeat) for cell, repeat, _ in values})
    if not shown:
        return None
    rows: list[list[Child | Cell]] = []
    for cell, repeat in executions:
        row: list[Child | Cell] = [Cell(source.label(cell), f"repeat {repeat}")]
        for metric in shown:
            found = values.get((cell, repeat, metric))
            row.append(
                Cell(figures.ABSENT)
                if found is None
                else Cell(figures.quantity(metric, found["value"]), weak=not found["counted"])
            )
        rows.append(row)
    table = grid(_CAPTION, ["Cell", *(_COLUMNS[m] for m in shown)], rows)
    return tag("details", tag("summary", "By repeat, with the busiest second and the variation"), table, class_="more")
