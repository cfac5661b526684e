"""The answer for a terminal: verdict first, reasons, then the figures in an aligned table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from brokerlab.cli.text import aligned, count_text, latency_text

if TYPE_CHECKING:
    from brokerlab.results.directory import RunDirectory
    from brokerlab.results.verdict import Verdict

_COLOURS = {"valid": "green", "invalid": "red", "cannot tell": "yellow"}
_SHOWN_REASONS = 12
_SHOWN_NOTES = 4

# metric of run_summary -> (first line of the column's head, second line)
COLUMNS = {
    "sent_per_s": ("sent", "/s"),
    "received_per_s": ("received", "/s"),
    "publish_latency_p50_ns": ("publish", "p50"),
    "publish_latency_p99_ns": ("publish", "p99"),
    "end_to_end_latency_p50_ns": ("end-to-end", "p50"),
    "end_to_end_latency_p99_ns": ("end-to-end", "p99"),
    "end_to_end_latency_p999_ns": ("end-to-end", "p99.9"),
    "lost": ("lost", ""),
}


def verdict_lines(verdict: Verdict) -> list[str]:
    """Verdict, headline, reasons, objectives, delivery."""
    badge = click.style(f" {verdict.verdict.upper()} ", fg=_COLOURS[verdict.verdict], bold=True, reverse=True)
    return [
        f"{badge} {verdict.headline}",
        *_reason_lines(verdict),
        *_objective_lines(verdict),
        *([_delivery_line(verdict)] if verdict.delivery else []),
        *(f"  set aside: {text}" for text in verdict.quarantined),
    ]


def _reason_lines(verdict: Verdict) -> list[str]:
    """Reasons that decide first, then notes; many alike are cut with a word about how many more there are."""
    deciding = [r for r in verdict.reasons if r.weight != "note"]
    notes = [r for r in verdict.reasons if r.weight == "note"]
    lines = []
    for reasons, limit in ((deciding, _SHOWN_REASONS), (notes, _SHOWN_NOTES)):
        for r in reasons[:limit]:
            where = " ".join(p for p in (r.cell, f"repeat {r.repeat}" if r.repeat is not None else "") if p)
            lines.append(f"  {r.weight}: {f'{where}: ' if where else ''}{r.text}")
        if len(reasons) > limit:
            lines.append(f"  ... and {len(reasons) - limit} more (brokerlab show --json)")
    return lines


def _objective_lines(verdict: Verdict) -> list[str]:
    return [f"  objective {o.met}: {o.text}{f' ({o.cell})' if o.cell else ''}" for o in verdict.objectives]


def _delivery_line(verdict: Verdict) -> str:
    order = ("sent", "acknowledged", "rejected", "unknown", "received", "lost", "duplicated", "reordered", "corrupted", "unexpected")  # fmt: skip
    parts = [f"{verdict.delivery[k]:,} {k}" for k in order if k in verdict.delivery]
    text = "  messages: " + ", ".join(parts)
    return click.style(text, fg="red", bold=True) if verdict.delivery_violated else text


def read_summary(run: RunDirectory) -> list[dict[str, Any]]:
    """Rows of the table run_summary; none while the run has not been analysed."""
    from brokerlab.results.reader import read_rows
    from brokerlab.results.tables import RUN_SUMMARY

    return read_rows(run, RUN_SUMMARY)


def summary_lines(rows: list[dict[str, Any]]) -> list[str]:
    """One line of medians per cell and, where repeats differ, a line with the interval under it."""
    cells: dict[str, dict[str, dict[str, Any]]] = {}
    for row in sorted(rows, key=lambda r: r["cell"]):
        cells.setdefault(row["cell"], {})[row["metric"]] = row
    metrics = [m for m in COLUMNS if any(m in cell for cell in cells.values())]
    if not metrics:
        return []
    table = [
        ["", "durability", "n", *(COLUMNS[m][0] for m in metrics)],
        ["", "", "", *(COLUMNS[m][1] for m in metrics)],
    ]
    for by_metric in cells.values():
        any_row = next(iter(by_metric.values()))
        n = max(r["n"] for r in by_metric.values())
        head = [any_row["label"], any_row["durability"] or "?", str(n)]
        table.append([*head, *(_figure(m, by_metric.get(m), "median") for m in metrics)])
        if n > 1:
            table.append(["", "", "", *(_interval(m, by_metric.get(m)) for m in metrics)])
    lines = aligned(table, right=range(2, len(table[0])))
    levels = {row["durability"] for row in rows}
    warning = ["  cells differ in durability: they promise different things"] if len(levels) > 1 else []
    return [*lines, *warning]


def _figure(metric: str, row: dict[str, Any] | None, which: str) -> str:
    if row is None or row[which] is None:
        return "-"
    return latency_text(row[which]) if metric.endswith("_ns") else count_text(row[which])


def _interval(metric: str, row: dict[str, Any] | None) -> str:
    """low..high in the terminal's terms; nothing where both read the same."""
    low, high = _figure(metric, row, "low"), _figure(metric, row, "high")
    if low == high:
        return ""
    low_number, _, low_unit = low.partition(" ")
    same_unit = low_unit and high.endswith(f" {low_unit}")
    return f"{low_number if same_unit else low}..{high}"


def answer_lines(run: RunDirectory, verdict: Verdict) -> list[str]:
    """All that is printed after a run."""
    table = summary_lines(read_summary(run))
    report = [f"report: {run.report_file}"] if run.report_file.exists() else []
    return [*verdict_lines(verdict), *(["", *table] if table else []), "", f"run:    {run.path}", *report]
