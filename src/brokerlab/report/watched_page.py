"""report.html of a run that only watched: what was watched, what happened to it, its series over time and in a table."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from brokerlab.model.plan import RunPlan
from brokerlab.report.figures import count, reading
from brokerlab.report.markup import Html, join, tag
from brokerlab.results.directory import RunDirectory
from brokerlab.results.reader import read_table
from brokerlab.results.tables import READING_PER_SECOND
from brokerlab.results.verdict import Verdict
from brokerlab.results.watched import SeriesRow, read_readings, series_rows

MOST_POINTS = 2_000  # of a line: more than a screen is wide
MOST_LINES = 24  # of a chart
# Title, unit of the axis, and which series: scopes and ends of metrics. In the order in which people look.
_CHARTS: tuple[tuple[str, str, tuple[str, ...], tuple[str, ...]], ...] = (
    ("Consumer lag", "1", ("group",), ("lag_messages", "lag_entries")),
    ("Messages in, by destination", "1/s", ("destination",), ("messages_in_per_s",)),
    ("Messages, as the brokers count them", "1/s", ("broker",), ("messages_in_per_s", "messages_out_per_s", "in_messages_per_s", "out_messages_per_s", "in_msgs_per_s", "out_msgs_per_s", "messages_received_per_s", "messages_delivered_per_s", "messages_enqueued_per_s", "messages_dequeued_per_s")),
    ("Request time, 99th percentile", "ms", ("broker",), ("request_time_p99_ms", "add_p99_ms")),
    ("Java heap in use", "B", ("jvm",), ("heap_used_bytes",)),
    ("Garbage collection", "s/s", ("jvm",), ("gc_time_seconds_per_s",)),
    ("Processors", "cores", ("host", "process"), ("cpu_cores", "cpu_busy_cores", "cpu_iowait_cores", "cpu_steal_cores")),
    ("Resident memory", "B", ("process",), ("rss_bytes",)),
    ("Disk", "B/s", ("host", "process"), ("read_bytes_per_s", "write_bytes_per_s")),
    ("Network", "B/s", ("host",), ("network_receive_bytes_per_s", "network_transmit_bytes_per_s", "network_loopback_bytes_per_s")),
)  # fmt: skip


def watched_body(run: RunDirectory, plan: RunPlan, verdict: Verdict) -> Html:
    """Everything but the charts, which `watched_data` has."""
    rows = series_rows(read_readings(run)[0])
    begun = min((row.first_unix_s for row in rows), default=None)
    when = "" if begun is None else f"From {datetime.fromtimestamp(begun, UTC):%Y-%m-%d %H:%M:%S} UTC. "
    away = [tag("li", reason.text) for reason in verdict.reasons]
    return tag(
        "main",
        tag(
            "header",
            tag("h1", f"Watched: {plan.name}", class_="verdict-word"),
            tag("p", verdict.headline, class_="headline"),
            tag("p", f"{when}A reading every {plan.interval_s:g} s.", class_="meaning"),
            tag("ul", away) if away else None,
            id="verdict",
            class_="verdict",
        ),
        tag(
            "section",
            tag("h2", "Over time"),
            tag("p", "Counters as increase per second. Seconds count from the first reading.", class_="caption"),
            tag("div", class_="charts", data_chart="watched"),
            tag("noscript", "The charts need JavaScript; the table does not."),
            id="charts",
        ),
        tag("section", tag("h2", "Every series"), _table(rows), id="series"),
        tag("footer", "Made by brokerlab from the run directory alone. To make it again: ", tag("code", f"brokerlab report {run.name}"), "."),
    )  # fmt: skip


def _table(rows: list[SeriesRow]) -> Html:
    head = tag("tr", [tag("th", name) for name in ("subject", "metric", "readings", "last", "mean", "least", "most", "grew by")])  # fmt: skip
    lines = [
        tag("tr", [tag("td", cell) for cell in (row.subject, row.metric, count(row.readings), *_numbers(row))])
        for row in rows
    ]
    return tag("div", tag("table", tag("thead", head), tag("tbody", lines)), class_="scroll", tabindex=0)


def _numbers(row: SeriesRow) -> tuple[str, ...]:
    """Each with its unit. A counter's mean is what it grew by in a second."""
    if row.increase is not None:
        per_s = "" if row.per_s is None else f"{reading(row.per_s, row.unit)}/s"
        return reading(row.last, row.unit), per_s, "", "", reading(row.increase, row.unit)
    return *(reading(value, row.unit) for value in (row.last, row.mean, row.least, row.most)), ""


def watched_data(run: RunDirectory) -> dict[str, Any]:
    """Charts as lines of points: {title, unit, lines: [{label, seconds, values}], hidden}."""
    readings = read_table(run, READING_PER_SECOND).to_pydict()
    names = ("subject", "metric", "second_unix_s", "value")
    lines: dict[tuple[str, str], list[tuple[int, float]]] = {}
    for subject, metric, second, value in zip(*(readings[name] for name in names), strict=True):
        lines.setdefault((subject, metric), []).append((second, value))
    zero = min(readings["second_unix_s"], default=0)
    charts = []
    for title, unit, scopes, ends in _CHARTS:
        fitting = {
            key: points
            for key, points in lines.items()
            if key[0].partition(":")[0] in scopes and any(key[1] == end or key[1].endswith(f"_{end}") for end in ends)
        }
        largest = sorted(fitting, key=lambda key: -max(v for _, v in fitting[key]))
        drawn = sorted(largest[:MOST_LINES])
        if drawn:
            made = [_line(key, fitting[key], zero) for key in drawn]
            charts.append({"title": title, "unit": unit, "lines": made, "hidden": len(fitting) - len(drawn)})
    return {"watched": charts}


def _line(key: tuple[str, str], points: list[tuple[int, float]], zero: int) -> dict[str, Any]:
    """At most MOST_POINTS of them: of each stretch the largest."""
    step = -(-len(points) // MOST_POINTS)
    kept = [max(points[i : i + step], key=lambda p: p[1]) for i in range(0, len(points), step)]
    subject, metric = key
    return {
        "label": f"{subject} {metric}",
        "seconds": [second - zero for second, _ in kept],
        "values": [value for _, value in kept],
    }


def watched_page(run: RunDirectory, plan: RunPlan, verdict: Verdict) -> tuple[str, Html, dict[str, Any]]:
    """Title, body and data of the page."""
    return f"Watched: {plan.name}", join(watched_body(run, plan, verdict)), watched_data(run)
