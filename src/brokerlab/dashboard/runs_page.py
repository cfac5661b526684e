"""The page of all runs; its script fills it and keeps it current."""

from __future__ import annotations

from brokerlab.dashboard.site import own_page
from brokerlab.report.markup import tag

_HEADS = ("", "Run", "Brokers", "State", "Verdict", "Rate over time", "Started")
_VERDICTS = ("valid", "invalid", "cannot tell", "not analyzed")


def runs_page(kind: str = "load") -> str:
    """Runs with a load, or (`monitor`) those that only watched."""
    title, here = ("Runs", "/") if kind == "load" else ("Monitor", "/monitor")
    start = tag("a", "Start a run", href="/start", class_="button primary")
    watched = tag("p", "Runs that watched brokers, JVMs, processes or this host without a load: ", tag("code", "brokerlab monitor TARGET"), " starts one.", class_="caption")  # fmt: skip
    filters = tag(
        "form",
        tag("label", "Find ", tag("input", type="search", name="find", placeholder="name, question", autocomplete="off")),
        tag("label", "Tag ", tag("select", tag("option", "any", value=""), name="tag")),
        tag("label", "Broker ", tag("select", tag("option", "any", value=""), name="broker")),
        tag("label", "Verdict ", tag("select", tag("option", "any", value=""), [tag("option", v) for v in _VERDICTS], name="verdict")),
        id="filters", class_="filters", role="search",
    )  # fmt: skip
    table = tag(
        "table",
        tag("thead", tag("tr", [tag("th", h or tag("span", "chosen", class_="hidden"), scope="col") for h in _HEADS])),
        tag("tbody", id="run-rows"),
        class_="stack runs",
    )
    return own_page(
        title, here, "runs.js",
        tag("section",
            tag("div", tag("h1", title), start if kind == "load" else None, class_="title"),
            None if kind == "load" else watched,
            filters,
            tag("p", "", id="said", class_="caption", role="status"),
            tag("div", table, class_="scroll", tabindex="0", role="region", aria_label="table of runs"),
            tag("div", tag("button", "Compare the chosen runs", type="button", id="compare", disabled=True), class_="actions"),
            data_kind=kind, id="runs"),
    )  # fmt: skip
