"""What the fault did: only in reports of runs with a planned fault."""

from __future__ import annotations

from brokerlab.report import figures
from brokerlab.report.grid import Cell, grid
from brokerlab.report.markup import Child, Html, tag
from brokerlab.report.source import Row, Source
from brokerlab.results.fault_text import ending_text, fault_sentence, is_alone, outage_text

_HEADS = (
    "Cell", "Node", "At", "Took over", "No acknowledgement", "No delivery", "Lost", "Duplicated", "Rejected",
    "Unknown",
)  # fmt: skip
_CAPTION = (
    "Outages are the longest time without an acknowledgement or delivery that began between the fault and the end of the"
    " measure phase; below it, the worst lane's. Counts are for the whole execution. All other rates and latencies of this"
    " report include the outage."
)
_DIP_HEADS = ("Cell", "Rate", "Before", "Lowest second", "Fell by", "Until it was back", "Back after")
_DIP_CAPTION = (
    "The rates around each fault, by whole seconds. A rate is back with the first of three seconds in a row that have at least"
    " 90 % of what it was before."
)


def has_faults(source: Source) -> bool:
    """Whether any fault was planned or happened."""
    planned = source.plan is not None and any(cell.faults for cell in source.plan.cells)
    return planned or len(source.table("fault")) > 0


def faults_section(source: Source) -> Html | None:
    if not has_faults(source):
        return None
    rows = source.table("fault").rows()
    title = tag("h2", "What the fault did")
    if not rows:
        return tag("section", title, tag("p", "No planned fault happened.", class_="absent"), id="faults")
    sentences = [
        tag("li", tag("b", f"{source.label(r['cell'])}, repeat {r['repeat']}: "), f"{fault_sentence(r)}.") for r in rows
    ]
    body = [_row(source, r) for r in rows]
    return tag(
        "section",
        title,
        tag("ul", sentences),
        grid(_CAPTION, _HEADS, body, text_columns=(0, 1, 3)),
        _dips(source),
        id="faults",
    )


def _dips(source: Source) -> Html | None:
    """The rates around each fault."""
    rows = source.table("dip").rows()
    return grid(_DIP_CAPTION, _DIP_HEADS, [_dip(source, r) for r in rows], text_columns=(0, 1)) if rows else None


def _dip(source: Source, row: Row) -> list[Child | Cell]:
    back = "not back" if row["recovered"] is False else figures.ABSENT
    if row["recovery_s"] is not None:
        back = f"{row['recovery_s']:.1f} s"
    return [
        Cell(source.label(row["cell"]), f"repeat {row['repeat']}, {row['node']}"),
        "acknowledged" if row["side"] == "publish" else "received",
        Cell(figures.rate(row["before_per_s"]), None if row["before_per_s"] is not None else row["reason"]),
        Cell(figures.rate(row["lowest_per_s"]), f"{row['silent_s']} s with nothing" if row["silent_s"] else None),
        figures.percent(row["depth"]),
        Cell(figures.rate(row["during_per_s"]), figures.percent(row["during_share"])),
        back,
    ]


def _row(source: Source, row: Row) -> list[Child | Cell]:
    after = row["took_over_after_s"]
    lost = Cell(
        figures.count(row["lost"]),
        None if row["drained"] else "not drained",
        weak=not row["drained"],
        kind="bad" if row["lost"] and row["drained"] else "",
    )
    return [
        Cell(source.label(row["cell"]), f"repeat {row['repeat']}"),
        Cell(row["node"], "the only node" if is_alone(row) else "led" if row["was_leading"] else "followed"),
        Cell(f"{row['at_s']:.1f} s", ending_text(row)),
        figures.ABSENT
        if is_alone(row)
        else Cell(row["took_over"] or "nothing", f"after {after:.2f} s" if after is not None else None),
        Cell(outage_text(row, "publish"), _lane(row, "publish")),
        Cell(outage_text(row, "delivery"), _lane(row, "delivery")),
        lost,
        figures.count(row["duplicated"]),
        figures.count(row["rejected"]),
        figures.count(row["unknown"]),
    ]


def _lane(row: Row, side: str) -> str | None:
    outage_s = row[f"{side}_outage_lane_s"]
    return None if outage_s is None else f"worst lane {outage_s:.2f} s"
