"""What became of every message, and the names of the lost."""

from __future__ import annotations

from brokerlab.model.metrics import LATENCIES
from brokerlab.report import figures
from brokerlab.report.grid import Cell, grid
from brokerlab.report.markup import Child, Html, tag
from brokerlab.report.sections.verdict import status
from brokerlab.report.source import Row, Source
from brokerlab.results.tables import NO_GROUP, OF_SENDS

_COUNTS = (
    "sent", "acknowledged", "rejected", "unknown", "received", "delivered", "lost", "duplicated", "redelivered",
    "reordered", "corrupted", "unexpected", "recovered", "unknown_absent", "aborted_read",
)  # fmt: skip
_VIOLATIONS = frozenset({"lost", "corrupted", "unexpected"})
_ODDITIES = frozenset({"rejected", "unknown", "duplicated", "reordered", "unknown_absent", "aborted_read"})
# Said in a sentence and by repeat: they explain the others.
_LESSER = ("received", "redelivered", "recovered", "unknown_absent", "aborted_read")
_SHOWN_RANGES = 50


def delivery_section(source: Source) -> Html:
    rows = source.table("delivery").rows()
    title = tag("h2", "Delivery")
    if not rows:
        return tag(
            "section",
            title,
            tag("p", "No delivery table: nothing can be said about lost messages.", class_="absent"),
            id="delivery",
        )
    # Columns that are zero everywhere and no violation are named in a sentence instead of filling the table.
    kept = [
        c for c in _COUNTS if c in _VIOLATIONS or c in ("sent", "acknowledged", "delivered") or any(r[c] for r in rows)
    ]
    zero = [c for c in _COUNTS if c not in kept]
    heads = ["Cell", "Drained", *(_words(c) for c in kept)]
    core = [c for c in kept if c not in _LESSER]
    totals = [_row(source, r, core) for r in _totals(rows)]
    caption = "All phases, all repeats together. Messages are called lost only where every drain was complete."
    by_repeat = [_row(source, r, kept) for r in sorted(rows, key=_key)]
    each = tag(
        "details",
        tag("summary", "By repeat"),
        grid("All phases.", heads, by_repeat, text_columns=(0, 1)),
        class_="more",
    )
    also = (
        tag("p", f"Zero everywhere: {', '.join(_words(c).lower() for c in zero)}.", class_="caption") if zero else None
    )
    return tag(
        "section",
        title,
        _sentence(rows),
        grid(caption, ["Cell", "Drained", *(_words(c) for c in core)], totals, text_columns=(0, 1)),
        _also(rows),
        also,
        each,
        _recounted(source),
        _lost(source),
        id="delivery",
    )


def _also(rows: list[Row]) -> Html:
    sums = {c: sum(r[c] for r in rows) for c in _LESSER}
    words = [f"{figures.count(n)} {c.replace('_', ' ')}" for c, n in sums.items() if n or c == "received"]
    return tag("p", f"Also, by repeat below: {', '.join(words)}.", class_="caption")


def _key(row: Row) -> tuple[str, str, int]:
    return row["cell"], row["group"], row["repeat"]


def _totals(rows: list[Row]) -> list[Row]:
    """One row per cell and group; `repeat` becomes how many repeats were added up."""
    made: dict[tuple[str, str], Row] = {}
    for r in sorted(rows, key=_key):
        total = made.setdefault((r["cell"], r["group"]), {**r, **dict.fromkeys(_COUNTS, 0), "repeat": 0, "total": True})
        total.update({c: total[c] + r[c] for c in _COUNTS})
        total["repeat"] += 1
        total["drained"] = total["drained"] and r["drained"]
    return list(made.values())


def _words(column: str) -> str:
    return column.replace("_", " ").capitalize()


def _sentence(rows: list[Row]) -> Html:
    totals = {c: sum(r[c] for r in rows) for c in _VIOLATIONS}
    broken = [f"{figures.count(n)} {c.replace('_', ' ')}" for c, n in sorted(totals.items()) if n]
    undrained = sum(not r["drained"] for r in rows)
    wait = (
        f" {undrained} of {len(rows)} drains were incomplete: messages missing there may still arrive."
        if undrained
        else ""
    )
    if broken:
        return tag("p", status("violated", "invalid"), f" {', '.join(broken)}.{wait}", class_="lead")
    if undrained:
        return tag("p", status("cannot tell"), wait, class_="lead")
    if any(r["group"] == NO_GROUP for r in rows):
        sentence = " Without consumers nothing can be said about lost messages."
        return tag("p", status("cannot tell"), sentence, class_="lead")
    return tag(
        "p",
        status("kept", "valid"),
        " No message lost, corrupted or unexpected; every drain was complete.",
        class_="lead",
    )


def _recounted(source: Source) -> Html | None:
    """Whether single messages, where they were kept, say the same."""
    rows = source.table("recount").rows()
    if not rows:
        return None
    apart = [r for r in rows if r["difference"]]
    if not apart:
        said = f"Counted again from single messages: all {figures.plural(len(rows), 'figure')} of delivery and latency are the same."
        return tag("p", said, class_="caption")
    items = [
        tag("li", f"{source.label(r['cell'])}, repeat {r['repeat']}, {r['figure'].replace('_', ' ')} {r['group']}: "
            f"{figures.count(r['as_told'])} by {'histograms' if r['figure'] in LATENCIES else 'ranges'}, {figures.count(r['by_message'])} by single messages")
        for r in apart
    ]  # fmt: skip
    return tag(
        "div", tag("p", "Counted again from single messages, these figures differ:"), tag("ul", items), class_="warning"
    )


def _row(source: Source, row: Row, kept: list[str]) -> list[Child | Cell]:
    group = f", group {row['group']}" if row["group"] else ""
    which = (
        f"{figures.plural(row['repeat'], 'repeat')}{group}" if row.get("total") else f"repeat {row['repeat']}{group}"
    )
    counts: list[Child | Cell] = []
    for c in kept:
        if row["group"] == NO_GROUP and c not in OF_SENDS:
            counts.append(Cell(figures.ABSENT, weak=True, title="no consumers"))
            continue
        kind = (
            "bad"
            if row[c] and c in _VIOLATIONS
            else ("odd" if row[c] and c in _ODDITIES else ("zero" if not row[c] else ""))
        )
        uncertain = c == "lost" and not row["drained"]
        counts.append(
            Cell(figures.count(row[c]), "not drained" if uncertain and row[c] else None, weak=uncertain, kind=kind)
        )
    if row["group"] == NO_GROUP:
        drained: Child = "no consumers"
    else:
        drained = status("yes", "valid") if row["drained"] else status("no", "cannot tell")
    return [Cell(source.label(row["cell"]), which), drained, *counts]


def _lost(source: Source) -> Html | None:
    ranges = source.table("lost_range").rows()
    if not ranges:
        return None
    body: list[list[Child | Cell]] = [
        [
            source.label(r["cell"]),
            r["repeat"],
            r["group"] or figures.ABSENT,
            r["producer"],
            r["partition"],
            figures.count(r["first"]),
            figures.count(r["last"]),
            figures.count(r["last"] - r["first"] + 1),
        ]
        for r in ranges[:_SHOWN_RANGES]
    ]
    heads = ("Cell", "Repeat", "Group", "Producer", "Partition", "First", "Last", "Messages")
    caption = (
        f"The first {_SHOWN_RANGES} of {len(ranges)} ranges; the raw numbers have all."
        if len(ranges) > _SHOWN_RANGES
        else "Sequence numbers within one producer and partition."
    )
    return tag(
        "details",
        tag("summary", figures.plural(len(ranges), "lost range")),
        grid(caption, heads, body, text_columns=(0, 2)),
        class_="more",
        id="lost-ranges",
    )
