"""What is the answer? Medians with their intervals side by side, and what may be said of the differences."""

from __future__ import annotations

import math
from collections.abc import Callable

from brokerlab.report import figures
from brokerlab.report.markup import Html, join, tag
from brokerlab.report.sections.verdict import answer_on, status
from brokerlab.report.source import Row, Source
from brokerlab.results.comparison_text import comparison_numbers, comparison_sentence

_RATES = ("received_per_s", "backlog_received_per_s", "sent_per_s")
_LATENCIES = ("end_to_end_latency_p99_ns", "publish_latency_p99_ns")
_SIGNS = {"higher": "▲", "lower": "▼", "same": "="}
SHOWN_CELLS = 16
_ROOMY_CELLS = 4  # more than this and each takes less room: the intervals are in the headline table too
_LEVELS = {
    "L1": "replicated and fsynced before the acknowledgement",
    "L2": "replicated, not fsynced",
    "L3": "fsynced on one node",
    "L4": "neither replicated nor fsynced",
}


def level_words(level: str | None) -> str:
    return f"{level}: {_LEVELS[level]}" if level in _LEVELS else (level or "durability not computed")


def summary_rows(source: Source, metric: str) -> dict[str, Row]:
    """run_summary's row of each cell."""
    return {r["cell"]: r for r in source.table("run_summary").rows(metric=metric) if r["n"] > 0}


def rate_metric(source: Source) -> str:
    """The first rate that says anything: a backlog is received after the measure phase, and some have no consumers."""
    table = source.table("run_summary")
    with_value = {m for m, v in zip(table.columns["metric"], table.columns["median"], strict=True) if v}
    return next((m for m in _RATES if m in with_value), _RATES[0])


def _panel_metrics(source: Source) -> tuple[str, ...]:
    return (rate_metric(source), *_LATENCIES)


def answer_section(source: Source) -> Html | None:
    panels = [p for p in (_panel(source, m) for m in _panel_metrics(source)) if p is not None]
    if not panels:
        return None
    return tag(
        "section",
        tag("h2", "The answer"),
        _doubt(source),
        tag("div", panels, class_="panels"),
        _legend(source),
        _comparisons(source),
        id="answer",
        class_="answer",
    )


def _doubt(source: Source) -> Html | None:
    """What the marks of figures that do not hold mean; nothing where all hold."""
    answers = {answer_on(source, c, m) for m in _panel_metrics(source) for c in _shown(source, summary_rows(source, m))}
    doubts = sorted(answers - {"valid"}, reverse=True)
    if not doubts:
        return None
    if "not analyzed" in doubts:
        words = "Shown for diagnosis only: there is no verdict on these figures."
    elif "valid" not in answers:
        words = "Shown for diagnosis only: the verdict above says that these figures cannot be relied on."
    else:
        words = f"Figures marked {' or '.join(doubts)} are shown for diagnosis only: the verdict above says why."
    return tag("p", words, class_="doubt")


def _legend(source: Source) -> Html:
    levels = {source.durability(c) for c in source.cells()}
    words = "Dot: median over repeats. Bar: 95 % interval, or the whole range with fewer than 5 repeats. Ticks: each repeat."
    unlike = (
        tag(
            "strong",
            " The cells differ in durability and are not ranked together: a faster cell of another level may only "
            "promise less.",
        )
        if len(levels) > 1
        else None
    )
    hidden = len(source.cells()) - SHOWN_CELLS
    more = (
        f" The first {SHOWN_CELLS} of {len(source.cells())} cells are drawn; the table below has all."
        if hidden > 0
        else None
    )
    return tag("p", words, more, unlike, class_="caption")


def _shown(source: Source, rows: dict[str, Row]) -> list[str]:
    return [c for c in source.cells() if c in rows][:SHOWN_CELLS]


def _panel(source: Source, metric: str) -> Html | None:
    rows = summary_rows(source, metric)
    shown = _shown(source, rows)
    if not shown:
        return None
    numbers = [
        v
        for c in shown
        for v in (rows[c]["low"], rows[c]["high"], *rows[c]["values"])
        if v is not None and math.isfinite(v)
    ]
    low, high = min(numbers), max(numbers)
    log = low > 0 and high / low > 8
    bottom = low / 1.3 if log else 0.0
    top = high * (1.3 if log else 1.08) or 1.0

    def place(value: float) -> float:
        share = math.log(value / bottom) / math.log(top / bottom) if log else value / top
        return round(100 * min(max(share, 0.0), 1.0), 2)

    groups = [(level, [c for c in members if c in shown]) for level, members in source.levels()]
    lines = []
    for level, members in groups:
        if len(source.levels()) > 1 and members:
            lines.append(tag("li", level_words(level), class_="level-group"))
        lines += [_line(source, c, rows[c], metric, shown.index(c), place) for c in members]
    axis = tag(
        "div",
        tag("span", figures.quantity(metric, bottom)),
        tag("span", "log scale" if log else "from zero", class_="scale"),
        tag("span", figures.quantity(metric, top)),
        class_="axis",
        aria_hidden="true",
    )
    better = "higher is better" if metric.endswith("_per_s") else "lower is better"
    heading = tag("h3", figures.metric_name(metric).capitalize(), tag("span", better, class_="sub"))
    return tag(
        "div",
        heading,
        tag("ul", lines, class_="lines dense" if len(shown) > _ROOMY_CELLS else "lines"),
        axis,
        class_="panel",
    )


def _line(source: Source, cell: str, row: Row, metric: str, index: int, where: Callable[[float], float]) -> Html:
    left, right = where(row["low"]), where(row["high"])
    ticks = [
        tag("i", class_="tick", style=f"left:{where(v)}%") for v in row["values"] if v is not None and math.isfinite(v)
    ]
    ends = f"{figures.quantity(metric, row['low'])} to {figures.quantity(metric, row['high'])}"
    interval = ends if row["n"] > 1 else "one repeat: no interval"
    level = source.durability(cell)
    answer = answer_on(source, cell, metric)
    return tag(
        "li",
        tag(
            "div",
            tag(
                "span",
                source.label(cell),
                tag("span", level, class_="level", title=level_words(level)) if level else None,
                None if answer == "valid" else [" ", status(answer)],
                class_="name",
            ),
            tag("span", figures.quantity(metric, row["median"]), class_="number"),
            class_="top",
        ),
        tag(
            "div",
            tag("i", class_="whisker", style=f"left:{left}%;width:{max(round(right - left, 2), 0.4)}%"),
            ticks,
            tag("i", class_="dot", style=f"left:{where(row['median'])}%"),
            class_=f"track series-{index % 8}",
            aria_hidden="true",
        ),
        tag("span", interval, tag("span", f"n = {row['n']}"), class_="interval"),
        class_=None if answer == "valid" else "doubted",
    )


def _comparisons(source: Source) -> Html | None:
    """Those between figures that hold; apart from them, and folded, those across levels and those with one that does not."""
    metrics = _panel_metrics(source)
    rows = [r for r in source.table("comparison").rows() if r["metric"] in metrics]
    if not rows:
        return None
    rows.sort(key=lambda r: (r["cell_a"], r["cell_b"], metrics.index(r["metric"])))
    holds = {(c, m) for m in metrics for c in source.cells() if answer_on(source, c, m) == "valid"}
    items: list[Html] = []
    across: list[Html] = []
    doubtful: list[Html] = []
    for r in rows:
        believed = {(r["cell_a"], r["metric"]), (r["cell_b"], r["metric"])} <= holds
        place = doubtful if not believed else items if r["same_durability"] else across
        place.append(_comparison(source, r))
    said = (
        tag("h3", "What can be said about the difference"),
        tag("ul", items[:6], class_="comparisons"),
        _folded(items[6:], f"{len(items) - 6} more comparisons"),
    )
    return join(
        tag("div", said) if items else None,
        _folded(across, f"{figures.plural(len(across), 'comparison')} across durability levels, not a ranking"),
        _folded(doubtful, f"{figures.plural(len(doubtful), 'comparison')} with figures that cannot be relied on"),
    )


def _folded(items: list[Html], summary: str) -> Html | None:
    if not items:
        return None
    return tag("details", tag("summary", summary), tag("ul", items, class_="comparisons"), class_="more")


def _comparison(source: Source, row: Row) -> Html:
    sentence = comparison_sentence(row, source.label(row["cell_a"]), source.label(row["cell_b"]))
    metric = tag("b", figures.metric_name(row["metric"]).capitalize())
    unlike = None if row["same_durability"] else tag("span", "different durability", class_="unlike")
    sign = _SIGNS.get(row["answer"], "?")
    return tag(
        "li",
        tag("span", sign, class_=f"sign {row['answer'].replace(' ', '-')}", aria_hidden="true"),
        tag("span", metric, ": ", sentence, " ", unlike, class_="told"),
        tag("span", comparison_numbers(row), class_="where"),
    )
