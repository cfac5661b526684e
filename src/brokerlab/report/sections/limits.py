"""What limited it: a sentence per cell, the figures behind it, and the curves."""

from __future__ import annotations

from brokerlab.report import figures
from brokerlab.report.limits import Use, likely_limit, uses
from brokerlab.report.markup import Html, join, tag
from brokerlab.report.source import Source


def limits_section(source: Source) -> Html:
    items = [
        tag(
            "li",
            tag("h3", source.label(cell)),
            tag("p", likely_limit(source, cell), class_="lead"),
            tag("ul", [_use(u) for u in uses(source, cell)], class_="uses"),
        )
        for cell in source.cells()
    ]
    curves = len(source.table("reading_per_second")) > 0 or len(source.table("rate_per_second")) > 0
    charts = join(
        tag("div", class_="controls", data_controls="limits"),
        tag("div", class_="charts", data_chart="limits"),
    )
    return tag(
        "section",
        tag("h2", "What limited it"),
        tag(
            "p",
            "Means over the measure phase, the worst repeat. A resource counts as a limit from 90 % of it.",
            class_="caption",
        ),
        tag("ul", items, class_="limits") if items else None,
        charts if curves else tag("p", "No curves: there are no readings.", class_="absent"),
        id="limits",
    )


def _use(use: Use) -> Html:
    meter = (
        tag("span", tag("i", style=f"width:{min(max(use.share, 0), 1) * 100:.1f}%"), class_="bar", aria_hidden="true")
        if use.share is not None
        else tag("span", class_="bar none", aria_hidden="true")
    )
    share = figures.percent(use.share) if use.share is not None else ""
    mark = tag("b", "at its limit", class_="mark") if use.at_limit else None
    return tag(
        "li",
        tag("span", use.resource, class_="name"),
        meter,
        tag("span", share, class_="share"),
        tag("span", use.used, " ", mark, class_="used"),
        class_="bad" if use.at_limit else None,
    )
