"""Places for the charts: our scripts fill them; the words around them say how to read them."""

from __future__ import annotations

from brokerlab.report.embedded import CELLS_WITH_DATA
from brokerlab.report.markup import Html, tag
from brokerlab.report.sections.minutes import minute_details
from brokerlab.report.source import Source


def _chart_section(
    source: Source, identifier: str, title: str, table: str, caption: str, more: Html | None = None
) -> Html:
    known = len(source.table(table)) > 0
    many = len(source.cells())
    first = (
        tag("p", f"There are charts for the first {CELLS_WITH_DATA} of {many} cells.", class_="caption")
        if many > CELLS_WITH_DATA
        else None
    )
    body = [
        tag("p", caption, class_="caption"),
        first,
        tag("div", class_="controls", data_controls=identifier),
        tag("div", class_="charts", data_chart=identifier),
        tag("noscript", "The charts need JavaScript; the tables do not."),
    ]
    absent = tag("p", f"No chart: the table {table} is missing or empty.", class_="absent")
    return tag("section", tag("h2", title), body if known else absent, more, id=identifier)


def throughput_section(source: Source) -> Html:
    return _chart_section(
        source,
        "throughput",
        "Throughput over time",
        "rate_per_second",
        "Messages in each second of the clock. Time counts from the first second of the measure phase; warm-up and drain "
        "are shaded. All charts share one scale.",
        minute_details(source),
    )


def together_section(source: Source) -> Html:
    return _chart_section(
        source,
        "together",
        "Rate over time",
        "rate_per_second",
        "Messages in each second of the clock, all sides on the same axes. Time counts from the first second of each side's "
        "measure phase.",
    )


def spectrum_section(source: Source) -> Html:
    return _chart_section(
        source,
        "spectrum",
        "Percentile spectrum",
        "latency_histogram",
        "Measure phase, from merged histograms. Each step to the right covers ten times fewer messages; a line "
        "turns pale where too few samples are left for a 95 % bound.",
    )


def heat_section(source: Source) -> Html:
    return _chart_section(
        source,
        "heat",
        "Latency over time",
        "latency_heat",
        "Every message, by the second in which it was due and its latency. A darker color (in dark mode a brighter one) means "
        "more messages, on a logarithmic scale. Lines: p50 and p99 of each second.",
    )
