"""How the numbers came about, what they do not say, and the raw numbers."""

from __future__ import annotations

from brokerlab.report import figures
from brokerlab.report.embedded import NOT_EMBEDDED, embedded_cells, embedded_tables
from brokerlab.report.markup import Html, join, tag
from brokerlab.report.source import Source
from brokerlab.results.tables import RESULT_TABLES

_DEFINITIONS = (
    ("publish latency", "Acknowledgement minus the time the message was due. Waiting in our own process counts: a stall shows in every message it delays."),
    ("end-to-end latency", "Arrival at the consumer minus the time the message was due."),
    ("send delay", "Handing the message to the client minus the time it was due: our own lateness. Where it is large, the load generator is being measured, not the broker."),
    ("acknowledged", "The broker confirmed the message as its durability level promises."),
    ("rejected", "Certainly not written."),
    ("unknown", "A timeout or a lost connection: neither sent nor failed. It may still arrive (recovered) or not (unknown absent)."),
    ("lost", "Acknowledged and never received; reported only after a complete drain."),
    ("reordered", "Arrived after a later message of its lane (producer × partition), within one consumer and assignment epoch."),
    ("interval", "95 % bootstrap interval of the median over repeats; the whole range with fewer than 5 repeats. The repeat is the unit: seconds within one are not independent."),
    ("cannot tell", "The interval of the ratio spans 1, or a side has fewer than 4 repeats."),
    ("durability", "L1 replicated and fsynced before the acknowledgement; L2 replicated; L3 fsynced on one node; L4 neither. Computed from the settings the broker reports, not from what was asked for."),
)  # fmt: skip

_NOT_SAID = (
    "How another machine, a real network or more nodes would behave: everything here, the load generator included, shared the host named above.",
    "How long-lived data, compaction or a full disk behave: a run lasts minutes.",
    "What happens above the requested rate: an open-loop run shows that a rate is sustained, not where it breaks.",
    "Quantiles are upper bounds of histogram buckets: at most 0.78 % above the true value.",
)  # fmt: skip


def method_section(source: Source) -> Html:
    workload = source.plan.workload_text if source.plan else ""
    overrides = source.plan.overrides if source.plan else ()
    return tag(
        "section",
        tag("h2", "Method"),
        tag("dl", [join(tag("dt", t), tag("dd", d)) for t, d in _DEFINITIONS], class_="definitions"),
        tag("h3", "What the numbers do not say"),
        tag("ul", [tag("li", s) for s in _NOT_SAID], class_="prose"),
        tag(
            "details",
            tag("summary", "The workload as written"),
            tag("p", "With ", tag("code", " ".join(f"--set {o}" for o in overrides))) if overrides else None,
            tag("pre", workload),
            class_="more",
        )
        if workload
        else None,
        id="method",
    )


def raw_section(source: Source) -> Html:
    shown = len(embedded_cells(source))
    first = (
        f" This page holds the rows of the first {shown} of {len(source.cells())} cells; the run directory has all."
        if shown < len(source.cells())
        else ""
    )
    tables = [
        tag(
            "details",
            tag(
                "summary",
                tag("b", name.replace("_", " ")),
                tag("span", f"{figures.count(len(table))} rows", class_="where"),
            ),
            tag("p", RESULT_TABLES[name].meaning, class_="caption"),
            tag(
                "p",
                tag("a", "Download CSV", href="#raw", download=f"{source.run}-{name}.csv", data_csv=name),
                class_="download",
            ),
            tag("div", class_="scroll", data_raw=name, tabindex="0", role="region", aria_label=f"rows of {name}"),
            class_="more",
        )
        for name, table in embedded_tables(source).items()
    ]
    body = tables or tag("p", "There are no tables.", class_="absent")
    return tag(
        "section",
        tag("h2", "Raw numbers"),
        tag(
            "p",
            f"The tables behind this page, as columns with their units.{first}{_elsewhere(source)}",
            class_="caption",
        ),
        body,
        id="raw",
    )


def _elsewhere(source: Source) -> str:
    names = sorted(NOT_EMBEDDED & source.tables.keys())
    return f" Not in this page but in the run directory: {', '.join(names)}." if names else ""
