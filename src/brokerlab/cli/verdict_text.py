"""The answer for a terminal: verdict first, reasons, then the figures in an aligned table."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING, Any

import click

from brokerlab.cli.comparison_text import comparison_lines
from brokerlab.cli.text import aligned, count_text, latency_number, latency_unit
from brokerlab.model.metrics import MEASURE_TABLE
from brokerlab.model.quantiles import HEADLINE_QUANTILES

if TYPE_CHECKING:
    from brokerlab.lab import Answer
    from brokerlab.model.plan import RunPlan
    from brokerlab.results.verdict import Verdict

Row = dict[str, Any]  # of run_summary

_COLOURS = {"valid": "green", "invalid": "red", "cannot tell": "yellow"}
_MARKS = {"invalid": "✕", "cannot tell": "?"}  # beside a cell in the table
_SHOWN_REASONS = 12
_SHOWN_NOTES = 4


def _columns() -> dict[str, tuple[str, str]]:
    """Metric of run_summary -> (first line of the column's head, second line)."""
    latencies = {
        f"{m.key}_{q.key}": (m.short, q.words)
        for m in MEASURE_TABLE
        for q in HEADLINE_QUANTILES
        if m.key == "end_to_end_latency" or (m.key == "publish_latency" and q.judged)
    }
    return {"sent_per_s": ("sent", "/s"), "received_per_s": ("received", "/s"), **latencies, "lost": ("lost", "")}


COLUMNS = _columns()


def verdict_lines(verdict: Verdict) -> list[str]:
    """Verdict, headline, reasons, objectives, delivery."""
    from brokerlab.judge.headline import without_the_word

    badge = click.style(f" {verdict.verdict.upper()} ", fg=_COLOURS[verdict.verdict], bold=True, reverse=True)
    return [
        f"{badge} {without_the_word(verdict)}",
        *_fault_lines(verdict),
        *_reason_lines(verdict),
        *_objective_lines(verdict),
        *([_delivery_line(verdict)] if verdict.delivery else []),
        *(f"  unreadable: {text}" for text in verdict.quarantined),
    ]


def _fault_lines(verdict: Verdict) -> list[str]:
    """What each planned fault did."""
    labels = _labels(verdict)
    lines = []
    for f in verdict.faults:
        lost = f"{f.lost:,} lost" if f.drained else "lost: cannot tell"
        counts = f"{lost}, {f.duplicated:,} duplicated, {f.rejected:,} rejected, {f.unknown:,} unknown"
        lines.append(f"  fault: {labels.get(f.cell, f.cell)}, repeat {f.repeat}: {f.text}; {counts}")
    return lines


def _reason_lines(verdict: Verdict) -> list[str]:
    """What decides first, then exceptions, what was set aside and notes; beyond a few of a kind only how many more."""
    from brokerlab.judge.reason_lines import KINDS, reason_lines

    lines = []
    for kind in KINDS:
        mine = [line for line in reason_lines(verdict) if line.kind == kind]
        limit = _SHOWN_NOTES if kind == "note" else _SHOWN_REASONS
        lines += [f"  {kind}: {f'{line.where}: ' if line.where else ''}{line.text}" for line in mine[:limit]]
        if len(mine) > limit:
            lines.append(f"  ... and {len(mine) - limit} more (brokerlab show --json)")
    return lines


def _objective_lines(verdict: Verdict) -> list[str]:
    labels = _labels(verdict)
    return [f"  objective {o.met}: {o.text} ({labels.get(o.cell, o.cell)})" for o in verdict.objectives]


def _labels(verdict: Verdict) -> dict[str, str]:
    """Cell -> what people call it."""
    return {c.cell: c.label for c in verdict.cells}


def _delivery_line(verdict: Verdict) -> str:
    order = ("sent", "acknowledged", "rejected", "unknown", "received", "lost", "duplicated", "reordered", "corrupted", "unexpected")  # fmt: skip
    parts = [f"{verdict.delivery[k]:,} {k}" if k in verdict.delivery else f"{k}: cannot tell" for k in order]
    if "received" not in verdict.delivery:
        parts = [*parts[: order.index("received")], "the workload has no consumers"]
    text = "  messages: " + ", ".join(parts)
    return click.style(text, fg="red", bold=True) if verdict.delivery_violated else text


def left_out_lines(plan: RunPlan) -> list[str]:
    """Brokers that `all` means and that are not run."""
    return [f"left out: {one.broker}: {one.reason}" for one in plan.left_out]


def summary_lines(rows: list[Row], width: int | None = None, verdict: Verdict | None = None) -> list[str]:
    """One line of medians per cell and, where repeats differ, a line with the interval under it; where that is wider
    than the terminal, a block per cell instead. Cells that are not valid by `verdict` are marked."""
    marks = {c.cell: _MARKS[c.verdict] for c in verdict.cells if c.verdict in _MARKS} if verdict is not None else {}
    cells: dict[str, dict[str, Row]] = {}
    for row in sorted(rows, key=lambda r: (r["durability"] or "~", r["cell"])):
        mark = f" {marks[row['cell']]}" if row["cell"] in marks else ""
        cells.setdefault(row["cell"], {})[row["metric"]] = row | {"label": f"{row['label']}{mark}"}
    metrics = [m for m in COLUMNS if any(m in cell for cell in cells.values())]
    if not metrics:
        return []
    lines = _wide(cells, metrics)
    if width is not None and max(map(len, lines)) > width:
        lines = _blocks(cells, metrics)
    levels = {row["durability"] for row in rows}
    warning = (
        ["  cells differ in durability: they promise different things and are not ranked together"]
        if len(levels) > 1
        else []
    )
    shown = [marks[cell] for cell in cells if cell in marks]
    meanings = [f"  {mark}: the verdict on this cell is {word}" for word, mark in _MARKS.items() if mark in shown]
    aside = ["  (+n): executions set aside and not part of the figures"] if any(map(_set_aside, cells.values())) else []
    return [*lines, *meanings, *aside, *_lateness_lines(rows), *warning]


def _lateness_lines(rows: list[Row]) -> list[str]:
    """Latencies of the table that are partly our own lateness, each with the figure without it; a line for each cell."""
    from brokerlab.results.lateness_text import latency_ranges

    of_cell: dict[str, list[str]] = {}
    for (_, metric), found in latency_ranges(rows).items():
        if metric in COLUMNS:
            unit = latency_unit([found.row["median"]])
            figure = f"{' '.join(COLUMNS[metric])} {latency_number(found.without_ns, unit)} {unit}"
            of_cell.setdefault(found.row["label"], []).append(figure)
    return [f"  {label} without our own lateness: {', '.join(of)}" for label, of in of_cell.items()]


def terminal_width() -> int | None:
    """Columns of the terminal stdout goes to; None when it goes elsewhere, where nothing needs to fit."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def _wide(cells: dict[str, dict[str, Row]], metrics: list[str]) -> list[str]:
    """All cells in one table. A column of latencies has one unit, so that its figures compare at a glance."""
    units = {m: latency_unit([c[m]["median"] for c in cells.values() if m in c]) for m in metrics if m.endswith("_ns")}
    table = [
        ["", "level", "n", *(COLUMNS[m][0] for m in metrics)],
        ["", "", "", *(" ".join(filter(None, (COLUMNS[m][1], units.get(m, "")))) for m in metrics)],
    ]
    for by_metric in cells.values():
        label, level, n = _cell_head(by_metric)
        table.append(
            [label, level, _size(by_metric), *(_figure(by_metric.get(m), "median", units.get(m)) for m in metrics)]
        )
        if n > 1:
            table.append(["", "", "", *(_interval(by_metric.get(m), units.get(m)) for m in metrics)])
    return aligned(table, right=range(2, len(table[0])))


def _blocks(cells: dict[str, dict[str, Row]], metrics: list[str]) -> list[str]:
    lines = []
    for by_metric in cells.values():
        label, level, _ = _cell_head(by_metric)
        lines.append(f"{label}  ({level}, n = {_size(by_metric)})")
        table = []
        for m in metrics:
            row = by_metric.get(m)
            unit = latency_unit([row["median"]]) if row is not None and m.endswith("_ns") else None
            head = " ".join(COLUMNS[m]).replace(" /s", "/s").strip()
            table.append([f"  {head}", f"{_figure(row, 'median', unit)} {unit or ''}".strip(), _interval(row, unit)])
        lines.extend(aligned(table, right=[1]))
    return lines


def _cell_head(by_metric: dict[str, Row]) -> tuple[str, str, int]:
    any_row = next(iter(by_metric.values()))
    return any_row["label"], any_row["durability"] or "?", max(r["n"] for r in by_metric.values())


def _size(by_metric: dict[str, Row]) -> str:
    """How many executions count, and how many were set aside: "4 (+1)"."""
    n, aside = _cell_head(by_metric)[2], _set_aside(by_metric)
    return f"{n} (+{aside})" if aside else str(n)


def _set_aside(by_metric: dict[str, Row]) -> int:
    return max(int(r["set_aside"]) for r in by_metric.values())


def _figure(row: Row | None, which: str, unit: str | None) -> str:
    if row is None or row[which] is None:
        return "-"
    return count_text(row[which]) if unit is None else latency_number(row[which], unit)


def _interval(row: Row | None, unit: str | None) -> str:
    """low..high; nothing where both read the same."""
    low, high = _figure(row, "low", unit), _figure(row, "high", unit)
    return "" if low == high else f"{low}..{high}"


def answer_lines(answer: Answer) -> list[str]:
    """All that is printed after a run."""
    table = summary_lines(answer.summary(), terminal_width(), answer.verdict)
    compared = comparison_lines(answer.comparison(), _labels(answer.verdict))
    places = [f"run:    {answer.run.path}", f"report: {answer.report}"]
    parts = [part for part in (verdict_lines(answer.verdict), table, compared, places) if part]
    return [line for i, part in enumerate(parts) for line in ([""] if i else []) + part]
