"""What a comparison found, for a terminal and as Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from brokerlab.cli.text import aligned, bytes_text, count_text, latency_text
from brokerlab.model.metrics import METRICS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from brokerlab.judge.compared import Answered, Compared, ComparedCell

_COLORS = {"better": "green", "worse": "red", "same": None, "cannot tell": "yellow"}
_MOST_UNLIKE = 12
_LONG = 110  # characters of a reason from which it stands below the table, once
_HEADS = ["metric", "base", "candidate", "ratio", "answer", ""]


def text_lines(found: Compared) -> list[str]:
    from brokerlab.judge.compared_headline import headline

    sides = zip((found.base, *found.candidates), found.runs, strict=True)
    lines = [click.style(headline(found), bold=True)]
    lines += [f"{'candidate' if i else 'base'}: {name}{_runs(name, of)}" for i, (name, of) in enumerate(sides)]
    for cell in found.cells:
        lines += ["", click.style(_title(cell, found), bold=True), *_cell_lines(cell)]
    lines += ["", *(f"note: {n}" for n in found.notes), summary_line(found)]
    return lines


def _runs(side: str, names: Sequence[str]) -> str:
    if len(names) == 1:
        return "" if names[0] == side else f" ({names[0]})"
    return f" ({len(names)} runs, {names[0]} to {names[-1]})"


def summary_line(found: Compared) -> str:
    """2 worse, 1 better, 8 same, 3 cannot tell (14 answers; chance of any false better or worse: at most 5 %)."""
    from brokerlab.judge.compared import ANSWERS

    total = sum(len(c.answers) for c in found.cells)
    counts = ", ".join(f"{found.count(a)} {a}" for a in ANSWERS if found.count(a))
    return f"{counts or 'nothing to compare'} ({total} answers; chance of any false better or worse: at most 5 %)"


def markdown_lines(found: Compared) -> list[str]:
    from brokerlab.judge.compared_headline import headline

    lines = [f"**{_escaped(headline(found))}**", ""]
    lines += [f"Base: `{found.base}`, compared with {', '.join(f'`{c}`' for c in found.candidates)}."]
    for cell in found.cells:
        lines += ["", f"### {_escaped(_title(cell, found))}", ""]
        lines += [f"- {_escaped(line.strip())}" for line in (*_unlike_lines(cell), *cell.notes)]
        lines += ["", f"| {' | '.join(_HEADS[:-1])} |", "|---|---|---|---|---|"]
        for one in cell.answers:
            *values, answer, reason = _row(one)
            said = f"**{answer}**" if answer in ("better", "worse") else answer
            lines.append(f"| {' | '.join(map(_escaped, values))} | {said}{_escaped(f': {reason}') if reason else ''} |")
    return [*lines, "", *(f"- {_escaped(n)}" for n in found.notes), "", summary_line(found)]


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def _title(cell: ComparedCell, found: Compared) -> str:
    labels = cell.base_cell if cell.base_cell == cell.candidate_cell else f"{cell.base_cell} → {cell.candidate_cell}"
    of = f", {cell.candidate}" if len(found.candidates) > 1 else ""
    pairs = "in pairs" if any(a.paired for a in cell.answers) else "not in pairs"
    measured = [a for a in cell.answers if a.metric in METRICS and a.ratio is not None] or cell.answers
    counts = f"{measured[0].n_base} and {measured[0].n_candidate} values, {pairs}" if measured else "no metric"
    return f"{labels} ({cell.durability}{of}): {counts}"


def _cell_lines(cell: ComparedCell) -> list[str]:
    rows = [_row(a) for a in cell.answers]
    long = list(dict.fromkeys(r[-1] for r in rows if len(r[-1]) > _LONG))
    rows = [[*r[:-1], f"[{long.index(r[-1]) + 1}]" if r[-1] in long else r[-1]] for r in rows]
    lines = aligned([[f"  {r[0]}", *r[1:]] for r in (_HEADS, *rows)], right=(1, 2))
    colored = [lines[0], *(_colored(line, a) for line, a in zip(lines[1:], cell.answers, strict=True))] if rows else []
    return [
        *_unlike_lines(cell),
        *(f"  note: {n}" for n in cell.notes),
        *colored,
        *(f"  [{i}] {reason}" for i, reason in enumerate(long, 1)),
    ]


def _colored(line: str, one: Answered) -> str:
    return click.style(line, fg=_COLORS[one.answer]) if _COLORS[one.answer] else line


def _unlike_lines(cell: ComparedCell) -> list[str]:
    lines = [f"  unlike {u}" for u in cell.unlike[:_MOST_UNLIKE]]
    more = len(cell.unlike) - _MOST_UNLIKE
    return [*lines, f"  ... and {more} more: --json has them all"] if more > 0 else lines


def _row(one: Answered) -> list[str]:
    base, candidate = (quantity(one.metric, v) for v in (one.base, one.candidate))
    within = f"within {one.smallest_difference * 100:g} %" if one.answer == "same" and one.smallest_difference else ""
    return [METRICS[one.metric].words, base, candidate, ratio_text(one), one.answer, one.reason or within]


def ratio_text(one: Answered) -> str:
    """1.13× [1.02×, 1.25×]; nothing for counts."""
    if one.ratio is None:
        return ""
    interval = "" if one.low is None or one.high is None else f" [{_times(one.low)}, {_times(one.high)}]"
    return f"{_times(one.ratio)}{interval}"


def _times(ratio: float) -> str:
    return f"{ratio:.3f}×" if 0.9 <= ratio < 1.1 else f"{ratio:.2f}×" if ratio < 100 else f"{ratio:.3g}×"


def quantity(metric: str, value: float | None) -> str:
    if value is None:
        return "–"
    unit = METRICS[metric].unit
    if unit == "ns":
        return latency_text(value)
    if unit == "B/s":
        return f"{bytes_text(value)}/s"
    if METRICS[metric].aspect == "rates" and unit in ("1", "µs", "B", "s"):
        return f"{value:,.4g} {unit}".removesuffix(" 1")
    return f"{count_text(value)}/s" if unit == "1/s" else count_text(value)
