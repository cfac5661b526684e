"""One-minute rates at the end of the measure phase, for readers who know them from a broker's own metrics."""

from __future__ import annotations

from brokerlab.report import figures
from brokerlab.report.grid import Cell, grid
from brokerlab.report.markup import Child, Html, tag
from brokerlab.report.source import Row, Source

_CAPTION = (
    "Messages sent, at the last second of the measure phase. The weighted one-minute rate is what JVM brokers publish as"
    " OneMinuteRate, computed from our own counts: a mean of 5 s rates that forgets slowly, so after a minute of steady load it"
    " shows 63 % of it. The plain minute is the mean of the last 60 s."
)
_HEADS = ("Cell", "Last second", "Weighted minute", "Broker's own", "Plain minute")


def minute_details(source: Source) -> Html | None:
    last: dict[tuple[str, int], Row] = {}
    for row in source.table("minute_rate").rows(series="sent", phase="measure"):
        key = (row["cell"], row["repeat"])
        if key not in last or row["second_unix_s"] > last[key]["second_unix_s"]:
            last[key] = row
    if not last:
        return None
    rows: list[list[Child | Cell]] = [
        [
            Cell(source.label(cell), f"repeat {repeat}"),
            *(
                figures.rate(row[name])
                for name in ("per_s", "one_minute_per_s", "broker_one_minute_per_s", "sliding_minute_per_s")
            ),
        ]
        for (cell, repeat), row in sorted(last.items())
    ]
    return tag("details", tag("summary", "One-minute rates"), grid(_CAPTION, _HEADS, rows), class_="more")
