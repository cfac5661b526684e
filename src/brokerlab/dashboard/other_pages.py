"""The pages whose scripts fill them: starting a run, choosing what is compared, studies, brokers."""

from __future__ import annotations

from brokerlab.dashboard.site import own_page, section
from brokerlab.report.markup import Html, tag


def _button(text: str, identifier: str, *, primary: bool = False) -> Html:
    return tag("button", text, type="button", id=identifier, class_="primary" if primary else None)


def start_page() -> str:
    fields = tag(
        "div",
        tag("label", "Begin from", tag("select", id="workload")),
        tag("label", "Brokers instead of the workload's", tag("input", id="brokers", placeholder="as written", autocomplete="off", list="broker-names")),
        tag("datalist", id="broker-names"),
        tag("label", "Repeats", tag("input", id="repeats", type="number", min=1, placeholder="as written")),
        tag("label", "Tag", tag("input", id="tag", placeholder="none", autocomplete="off")),
        tag("div", tag("button", "Check", type="button", id="check", data_needs_token=True, disabled=True),
            tag("button", "Start", type="button", id="start", class_="primary", data_needs_token=True, disabled=True), class_="actions"),
        tag("div", id="outcome", role="status"),
        class_="fields",
    )  # fmt: skip
    editor = tag("div", tag("label", "Workload", for_="text", class_="hidden"),
                 tag("textarea", id="text", class_="editor", spellcheck="false", autocapitalize="off"),
                 tag("ul", id="problems", class_="problems", aria_live="polite"))  # fmt: skip
    return own_page(
        "Start a run", "/start", "start.js",
        tag("section", tag("h1", "Start a run"),
            tag("p", "A shipped workload as it is, or edited here. It is checked as on the command line, and runs in a process of its own: closing "
                "this tab or the server does not stop it.", class_="caption"),
            tag("div", editor, fields, class_="two")),
        section("commands", "Started here", tag("ul", id="command-list")),
    )  # fmt: skip


def compare_page() -> str:
    return own_page(
        "Compare", "/compare", "compare.js",
        tag("section", tag("h1", "Compare"),
            tag("p", "Is a candidate better or worse than the base? Runs that have been analyzed, tags, or single cells. The address of the answer holds the choice.", class_="caption"),
            tag("div", tag("label", "Base", tag("select", id="base")), tag("label", "Candidates", tag("select", id="candidates", multiple=True, size=8)),
                tag("label", tag("input", type="checkbox", id="unlike"), " although durability or driver path differ"), class_="fields"),
            tag("div", _button("Compare", "go", primary=True), class_="actions"),
            tag("p", "", id="said", class_="caption", role="status")),
    )  # fmt: skip


def studies_page() -> str:
    return own_page(
        "Studies", "/studies", "studies.js",
        tag("section", tag("h1", "Studies"), tag("p", "Published measurements, run again: every claim with its verdict.", class_="caption"),
            tag("div", id="study-list", class_="cards")),
    )  # fmt: skip


def study_not_judged_page(name: str, scale: str, why: str) -> str:
    return own_page(
        name, "/studies", "studies.js",
        tag("section", tag("h1", name), tag("p", why, class_="lead"),
            tag("div", tag("button", "Judge the claims now", type="button", id="judge", class_="primary", data_study=name, data_scale=scale, data_needs_token=True, disabled=True), class_="actions"),
            tag("pre", "", id="output", class_="output", hidden=True)),
    )  # fmt: skip


def brokers_page() -> str:
    heads = ("Broker", "Version", "Nodes", "Durability", "Installed", "Up", "")
    table = tag("table", tag("thead", tag("tr", [tag("th", h or tag("span", "actions", class_="hidden"), scope="col") for h in heads])), tag("tbody", id="broker-rows"), class_="stack runs")  # fmt: skip
    return own_page(
        "Brokers", "/brokers", "brokers.js",
        tag("section", tag("h1", "Brokers"), tag("p", "What can be installed and started here. A broker that is up stays up until it is taken down.", class_="caption"),
            tag("div", table, class_="scroll", tabindex="0", role="region", aria_label="table of brokers"), tag("pre", "", id="output", class_="output", hidden=True)),
        section("doctor", "This machine",
                tag("div", tag("button", "Check this machine", type="button", id="doctor-run", data_needs_token=True, disabled=True), class_="actions"),
                tag("ul", id="findings", class_="facts-list")),
    )  # fmt: skip
