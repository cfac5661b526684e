"""How fast a backlog was received, of sets of consumers that start later than the first send."""

from __future__ import annotations

from brokerlab.report import figures
from brokerlab.report.grid import Cell, grid
from brokerlab.report.markup import Child, Html
from brokerlab.report.source import Row, Source

_CAPTION = (
    "Catching up: consumers that started later than the first send. From the first arrival to the last, exactly; where"
    " producers went on, until the group had caught up with them. Before the first arrival come the consumers' connections."
)
_HEADS = ("Cell", "Group", "Backlog", "Received", "First after", "Took", "Rate", "Bytes")


def catch_up_table(source: Source) -> Html | None:
    rows = source.table("catch_up").rows()
    return grid(_CAPTION, _HEADS, [_row(source, r) for r in rows], text_columns=(0, 1)) if rows else None


def _row(source: Source, row: Row) -> list[Child | Cell]:
    weak = not row["counted"]
    per_s = Cell(figures.rate(row["received_per_s"]), row["reason"] or None, weak=weak)
    bytes_per_s = row["received_bytes_per_s"]
    return [
        Cell(source.label(row["cell"]), f"repeat {row['repeat']}" + (", set aside" if weak else "")),
        Cell(row["group"].rpartition("-")[2], "while producers went on" if row["while_sending"] else None),
        figures.ABSENT if row["backlog"] is None else figures.count(row["backlog"]),
        figures.count(row["received"]),
        figures.duration(row["waited_s"] * 1e9),
        figures.duration(row["took_s"] * 1e9),
        per_s,
        figures.ABSENT if bytes_per_s is None else f"{figures.size(bytes_per_s)}/s",
    ]
