"""What a message cost: CPU of broker and clients, bytes written and bytes stored."""

from __future__ import annotations

from brokerlab.model.metrics import COSTS
from brokerlab.report import figures
from brokerlab.report.grid import Cell, grid
from brokerlab.report.markup import Child, Html, tag
from brokerlab.report.sections.answer import summary_rows
from brokerlab.report.source import Source

_HEADS = {
    "broker_cpu_us_per_message": "Broker CPU",
    "client_cpu_us_per_message": "Clients' CPU",
    "producer_cpu_us_per_message": "of producers",
    "consumer_cpu_us_per_message": "of consumers",
    "broker_disk_written_bytes_per_message": "Written to disk",
    "stored_bytes_per_message": "Stored",
}
_CAPTION = (
    "Per message sent; consumers' CPU per message received. Medians over repeats, measure phase, all nodes together. Stored is"
    " by how much the nodes' data directories grew until all was sent, replicas included: a broker that deletes what was"
    " received stores little."
)


def has_costs(source: Source) -> bool:
    return any(summary_rows(source, m.key) for m in COSTS)


def cost_section(source: Source) -> Html | None:
    if not has_costs(source):
        return None
    rows = [_row(source, cell) for cell in source.cells()]
    return tag(
        "section",
        tag("h2", "Cost per message"),
        grid(_CAPTION, ["Cell", *(_HEADS[m.key] for m in COSTS)], rows),
        _reasons(source),
        id="cost",
    )


def _row(source: Source, cell: str) -> list[Child | Cell]:
    cells: list[Child | Cell] = [source.label(cell)]
    for metric in COSTS:
        row = summary_rows(source, metric.key).get(cell)
        if row is None:
            cells.append(Cell(figures.ABSENT))
            continue
        low, high = (figures.quantity(metric.key, row[end]) for end in ("low", "high"))
        cells.append(Cell(figures.quantity(metric.key, row["median"]), f"{low} – {high}" if row["n"] > 1 else None))
    return cells


def _reasons(source: Source) -> Html | None:
    """Why figures are missing, each reason once with the cells it is of."""
    found: dict[str, list[str]] = {}
    for row in source.table("cost").rows(phase="measure"):
        for reason in filter(None, row["reason"].split("; ")):
            names, _, why = reason.partition(": ")
            absent = [n.replace("_", " ") for n in names.split(", ") if not _is_told(source, row["cell"], n)]
            cells = found.setdefault(f"{', '.join(absent)}: {why}", []) if absent else []
            if source.label(row["cell"]) not in cells:
                cells.append(source.label(row["cell"]))
    if not found:
        return None
    items = [tag("li", f"{reason} ({', '.join(cells)})") for reason, cells in found.items()]
    return tag("details", tag("summary", "What is not known"), tag("ul", items), class_="more")


def _is_told(source: Source, cell: str, figure: str) -> bool:
    """Another repeat may have it, or the drain where consumers start after the backlog."""
    return any(m.key.startswith(figure) and cell in summary_rows(source, m.key) for m in COSTS)
