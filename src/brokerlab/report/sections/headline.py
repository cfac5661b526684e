"""The headline table: throughput and latencies of every cell with n and interval, grouped by durability."""

from __future__ import annotations

from brokerlab.model.metrics import LATENCIES, MEASURE_TABLE
from brokerlab.model.quantiles import HEADLINE_QUANTILES, Quantile
from brokerlab.report import figures
from brokerlab.report.grid import Cell, band, grid
from brokerlab.report.markup import Child, Html, tag
from brokerlab.report.sections.answer import level_words, rate_metric, summary_rows
from brokerlab.report.sections.repeats import repeats_details
from brokerlab.report.sections.verdict import answer_on, status, what_holds
from brokerlab.report.source import Row, Source
from brokerlab.results.lateness_text import latency_ranges
from brokerlab.results.verdict import CellVerdict

_MEASURES = [(m.key, m.short.capitalize()) for m in MEASURE_TABLE if m.key in LATENCIES]


def headline_section(source: Source) -> Html:
    rate = figures.metric_name(rate_metric(source)).removesuffix(" rate").capitalize()
    heads = [
        "Cell",
        "Verdict",
        "n",
        rate,
        *(f"{words} {q.words}" for _, words in _MEASURES for q in HEADLINE_QUANTILES),
    ]
    levels = source.levels()
    rows: list[list[Child | Cell] | Html] = []
    for level, members in levels:
        rows.append(band(level_words(level), len(heads)))
        rows += [_row(source, c) for c in members]
    caption = (
        "Measure phase. n: counted repeats × samples in the smallest of them. Medians over repeats, with the 95 % interval below (the range with fewer than 5 repeats). "
        "Latencies count from the time a message was due. Grey: too few samples for this quantile, or a figure that does not hold."
    )
    unlike = tag(
        "p",
        "An acknowledgement promises different things in these cells, so they are grouped by level and not ranked "
        "together. Compare within a group: across groups, a lower latency may only mean a weaker promise.",
        class_="warning",
    )
    return tag(
        "section",
        tag("h2", "Headline figures"),
        unlike if len(levels) > 1 else None,
        _left_out(source),
        grid(caption, heads, rows, text_columns=(0, 1), kind="stack figures"),
        _lateness(source),
        _steadiness(source),
        repeats_details(source),
        id="headline",
    )


def _left_out(source: Source) -> Html | None:
    """Brokers that `brokers: all` means and that were not run."""
    absent = source.plan.left_out if source.plan else ()
    if not absent:
        return None
    items = [tag("li", tag("b", one.broker), f": {one.reason}") for one in absent]
    return tag("div", tag("p", "Left out of this comparison:"), tag("ul", items), class_="left-out")


def _row(source: Source, cell: str) -> list[Child | Cell]:
    judged = source.cell_verdict(cell)
    judgement = _judgement(source, judged) if judged else None
    declared = judged.durability_declared if judged else None
    computed = source.durability(cell)
    durability = (
        f"{computed} as declared"
        if declared == computed
        else f"{computed or 'not computed'}, declared {declared or 'nothing'}"
    )
    unlike = len({source.security(c) for c in source.cells()}) > 1
    cells: list[Child | Cell] = [
        Cell(source.label(cell), f"{durability}; security: {source.security(cell)}" if unlike else durability),
        Cell(status(judged.verdict) if judged else "not judged", judgement),
        _sizes(source, cell),
        _rate(source, cell),
    ]
    return cells + [_quantile(source, cell, m, q) for m, _ in _MEASURES for q in HEADLINE_QUANTILES]


def _judgement(source: Source, judged: CellVerdict) -> str | None:
    """What holds where not everything does, what of the plan is missing, and what was set aside."""
    finished, planned, aside = judged.repeats_finished, judged.repeats_planned, len(judged.set_aside)
    missing = f"{finished} of {planned} repeats" if finished < planned else None
    return (
        "; ".join(filter(None, (what_holds(source, judged.cell), missing, f"{aside} set aside" if aside else None)))
        or None
    )


def _rate(source: Source, cell: str) -> Cell:
    metric = rate_metric(source)
    row = summary_rows(source, metric).get(cell)
    if row is None:
        return Cell(figures.ABSENT)
    doubted = answer_on(source, cell, metric) != "valid"
    return Cell(figures.rate(row["median"]), _interval(metric, row), weak=doubted)


def _quantile(source: Source, cell: str, measure: str, quantile: Quantile) -> Cell:
    metric = f"{measure}_{quantile.key}"
    row = summary_rows(source, metric).get(cell)
    if row is None:
        return Cell(figures.ABSENT)
    samples = fewest_samples(source, cell, measure)
    needed = quantile.fewest_samples
    weak = samples is not None and samples < needed
    title = (
        f"samples per repeat: {figures.count(samples)}; needed: {figures.count(needed)}"
        if samples is not None
        else None
    )
    sub = "too few samples" if weak else _interval(metric, row)
    doubted = answer_on(source, cell, metric) != "valid"
    return Cell(figures.duration(row["median"]), sub, weak=weak or doubted, title=title)


def fewest_samples(source: Source, cell: str, measure: str) -> int | None:
    """Samples of the counted repeat and group that have fewest: a quantile is as trustworthy as its weakest part."""
    rows = source.table("latency_per_phase").rows(cell=cell, phase="measure", measure=measure, counted=True)
    each = [r["count"] for r in rows if r["repeat"] > 0] or [r["count"] for r in rows]
    return min(each, default=None)


def _sizes(source: Source, cell: str) -> Cell:
    """How many repeats stand behind a median, and how many samples behind the quantiles of each."""
    row = summary_rows(source, "sent_per_s").get(cell)
    samples = fewest_samples(source, cell, "end_to_end_latency") or fewest_samples(source, cell, "publish_latency")
    return Cell(row["n"] if row else 0, f"× {figures.count(samples)}" if samples else None)


def _interval(metric: str, row: Row) -> str | None:
    """Both ends, in one unit where they share it: "11.2 – 12.9 ms"."""
    if row["n"] < 2:
        return None  # column n says that there is no interval to show
    first, last = figures.quantity(metric, row["low"]), figures.quantity(metric, row["high"])
    unit = last.lstrip("0123456789.,")
    return f"{first.removesuffix(unit) if unit else first} – {last}"


def _lateness(source: Source) -> Html | None:
    """Latencies of the table that are partly our own lateness, each with the figure without it."""
    ranges = latency_ranges(source.table("run_summary").rows())
    if not ranges:
        return None
    items = [
        tag("li", f"{source.label(cell)}, {figures.metric_name(metric)}: {figures.duration(found.row['median'])}, "
            f"{figures.duration(found.without_ns)} without it")
        for (cell, metric), found in ranges.items()
    ]  # fmt: skip
    said = f"Our own lateness is a visible part of {len(items)} of these figures"
    return tag("details", tag("summary", said), tag("ul", items), class_="more")


def _steadiness(source: Source) -> Html | None:
    unsteady = [r for r in source.table("steadiness").rows() if r["label"] not in ("flat", "short")]
    if not source.table("steadiness").columns["cell"]:
        return None
    if not unsteady:
        return tag("p", "Every series long enough to judge was flat over the measure phase.", class_="caption")
    items = [
        tag(
            "li",
            f"{source.label(r['cell'])}, repeat {r['repeat']}: {r['series']} was ",
            tag("b", "unsteady" if r["label"] == "none" else r["label"]),
            f" (variation {figures.percent(r['variation'])}, slope {r['slope_per_minute'] * 100:+.1f} % a minute)",
        )
        for r in unsteady
    ]
    return tag(
        "details",
        tag("summary", f"{len(items)} series were not flat: one figure hides a change"),
        tag("ul", items),
        class_="more",
    )
