"""The curve of a scaling fit with the executions it goes through, as SVG: it is there without scripts too."""

from __future__ import annotations

import math

import numpy as np

from brokerlab.judge.scaling import usl_rate
from brokerlab.judge.scaling_rows import AXES
from brokerlab.report import figures
from brokerlab.report.markup import Html, tag
from brokerlab.report.source import Row, Source

_WIDTH, _HEIGHT, _LEFT, _BELOW, _ABOVE = 640, 240, 78, 26, 12
_STEPS = 80


def scaling_chart(source: Source, row: Row, color: int) -> Html | None:
    """One point for each counted execution; nothing where the plan is missing."""
    points = _points(source, row)
    if not points:
        return None
    least, most = min(n for n, _ in points), max(n for n, _ in points)
    across = np.geomspace(least, most, _STEPS)
    rates = usl_rate(across, row["alone_per_s"], row["contention"], row["coherency"])
    top = 1.08 * max([*(r for _, r in points), float(rates.max())])

    def x(n: float) -> float:
        share = math.log(n / least) / math.log(most / least)
        return round(_LEFT + share * (_WIDTH - _LEFT - 12), 1)

    def y(rate: float) -> float:
        return round(_ABOVE + (1 - rate / top) * (_HEIGHT - _ABOVE - _BELOW), 1)

    line = " ".join(f"{x(n)},{y(r)}" for n, r in zip(across.tolist(), rates.tolist(), strict=True))
    stroke = f"var(--series-{color % 8})"
    marks = [tag("circle", cx=x(n), cy=y(r), r=3.5, fill=stroke, fill_opacity=0.6) for n, r in points]
    bottom = [_text(x(n), _HEIGHT - 8, "middle", f"{n:g}") for n in sorted({n for n, _ in points})]
    side = [_text(_LEFT - 8, y(rate) + 4, "end", figures.rate(rate)) for rate in _ticks(top)]
    rules = [tag("path", d=f"M{_LEFT} {y(rate)}H{_WIDTH - 12}", stroke="var(--grid)") for rate in _ticks(top)]
    curve = tag("polyline", points=line, fill="none", stroke=stroke, stroke_width=2)
    said = f"{row['series']}: {figures.metric_name(row['metric'])} by {row['axis']}, {len(points)} executions and the curve through them"
    picture = tag(
        "svg",
        rules,
        curve,
        marks,
        bottom,
        side,
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        role="img",
        aria_label=said,
        style="max-width:640px;width:100%",
    )
    return tag(
        "figure",
        tag("figcaption", tag("b", row["series"]), f" {figures.metric_name(row['metric'])} by {row['axis']}"),
        picture,
    )


def _ticks(top: float) -> list[float]:
    """Round numbers from 0 to at most `top`, three to six of them."""
    step = 10.0 ** math.floor(math.log10(top))
    if top / step < 2:
        step /= 2
    elif top / step > 5:
        step *= 2
    return [i * step for i in range(math.floor(top / step) + 1)]


def _text(x: float, y: float, anchor: str, said: str) -> Html:
    return tag("text", said, x=x, y=y, text_anchor=anchor, font_size=11, fill="var(--muted)")


def _points(source: Source, row: Row) -> list[tuple[float, float]]:
    value_of = AXES[row["axis"]]
    found = []
    for cell in row["cells"].split(", "):
        plan = source.cell_plan(cell)
        n = value_of(plan) if plan is not None else None
        if n:
            figures_of = source.table("execution_figure").rows(cell=cell, metric=row["metric"], counted=True)
            found += [(float(n), r["value"]) for r in figures_of if r["value"] > 0]
    return found if len({n for n, _ in found}) > 1 else []
