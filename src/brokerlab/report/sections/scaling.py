"""How the rate grows with a swept number: the curve of the scalability law, in words and figures."""

from __future__ import annotations

from brokerlab.report import figures
from brokerlab.report.grid import Cell, grid
from brokerlab.report.markup import Child, Html, tag
from brokerlab.report.sections.scaling_chart import scaling_chart
from brokerlab.report.source import Row, Source

_CAPTION = (
    "The Universal Scalability Law through the counted executions, with 95 % intervals. Contention: the share of the work that"
    " is done one at a time. Coherency: the cost of every two that have to agree; above 0 the rate falls again beyond the knee."
)
_HEADS = ("Series", "Rate", "Of one", "Contention", "Coherency", "Knee", "Highest rate", "Off the curve")


def scaling_section(source: Source) -> Html | None:
    """Only of runs with a sweep over something that scales."""
    rows = source.table("scaling").rows()
    fitted = [r for r in rows if r["alone_per_s"] is not None]
    others = [r for r in rows if r["alone_per_s"] is None]
    if not rows:
        return None
    reasons = dict.fromkeys(f"{r['series']}: {r['reason']}" for r in others)
    why = tag(
        "details", tag("summary", "Series without a curve"), tag("ul", [tag("li", r) for r in reasons]), class_="more"
    )
    return tag(
        "section",
        tag("h2", "Scaling"),
        [scaling_chart(source, row, i) for i, row in enumerate(fitted)],
        grid(_CAPTION, _HEADS, [_row(r) for r in fitted]) if fitted else None,
        why if reasons else None,
        id="scaling",
    )


def _row(row: Row) -> list[Child | Cell]:
    knee = "only rises" if row["knee"] is None else figures.significant(row["knee"])
    within = "extrapolated" if row["knee_measured"] is False else _interval(row, "knee")
    left_out = f"; without {row['left_out']}" if row["left_out"] else ""
    return [
        Cell(row["series"], f"{row['axis']}, {figures.plural(row['points'], 'value')}{left_out}"),
        figures.metric_name(row["metric"]),
        Cell(figures.rate(row["alone_per_s"]), _interval(row, "alone_per_s")),
        Cell(figures.significant(row["contention"]), _interval(row, "contention")),
        Cell(figures.significant(row["coherency"]), _interval(row, "coherency")),
        Cell(knee, within),
        figures.rate(row["highest_per_s"]),
        figures.percent(row["deviation"]),
    ]


def _interval(row: Row, name: str) -> str | None:
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    if low is None:
        return None
    return (
        f"{figures.significant(low)} – {figures.significant(high)}"
        if high is not None
        else f"from {figures.significant(low)}"
    )
