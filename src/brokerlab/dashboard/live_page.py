"""The page of a run while it goes: the report's sections, drawn by the report's charts from what the server streams."""

from __future__ import annotations

from pathlib import Path

from brokerlab.dashboard.site import ASSETS, section, site
from brokerlab.model.metrics import FROM_SCHEDULE, MEASURE_TABLE
from brokerlab.model.plan import RunPlan
from brokerlab.report.markup import Html, join, script_json, tag
from brokerlab.report.page import document, scripts, theme_button

_CHARTS = ("uplot.iife.min.js", "data.js", "lines.js", "heat.js")
_TILES = (
    ("sent", "sent"), ("received", "received"), ("p99", "p99"), ("lag", "backlog"), ("agents", "agents’ CPU"), ("broker", "broker CPU"),
)  # fmt: skip


def live_page(plan: RunPlan) -> str:
    data = {
        "run": plan.run,
        "cells": [{"cell": c.cell, "label": c.label} for c in plan.cells],
        "measures": [
            {"key": m.key, "words": m.words, "short": m.short} for m in MEASURE_TABLE if m.key in FROM_SCHEDULE
        ],
        "tables": {},
        "kind": plan.kind,
    }
    body = join(
        tag("main", _head(plan), _sections(plan.kind), id="content", tabindex="-1"),
        theme_button(),
        script_json("data", data),
        tag("link", rel="modulepreload", href=f"{ASSETS}/live_tables.js"),  # else asked for when live.js has come
        scripts(_CHARTS, site("/monitor" if plan.kind == "monitor" else "/")),
        tag("script", type="module", src=f"{ASSETS}/live.js"),
    )
    return document(f"live: {plan.name} · brokerlab", body, site("/monitor" if plan.kind == "monitor" else "/"))


def _head(plan: RunPlan) -> Html:
    tiles = [
        tag("li", tag("span", words, class_="sub"), tag("b", "–", data_tile=key), tag("small", data_note=key))
        for key, words in _TILES
    ]
    actions = tag(
        "div",
        tag("button", "Stop the run", type="button", id="stop", class_="danger", data_needs_token=True, disabled=True),
        tag(
            "form",
            tag("label", "Remark", for_="remark", class_="sub"),
            tag("input", id="remark", name="text", maxlength=500, autocomplete="off", placeholder="what you see now"),
            tag("button", "Annotate", type="submit", data_needs_token=True, disabled=True),
            id="annotate",
        ),
        tag("button", "Analyze it now", type="button", id="analyze", data_needs_token=True, disabled=True, hidden=True),
        tag("a", "Open the report", id="report", href=f"/runs/{plan.run}", class_="button", hidden=True),
        class_="actions",
    )
    return tag(
        "header",
        tag("h1", "Connecting", class_="verdict-word", id="word"),
        tag("p", plan.question or plan.name, class_="headline"),
        tag("p", "", class_="meaning", id="meaning", aria_live="polite"),
        tag("div", tag("i"), class_="progress", id="progress", role="progressbar", aria_label="executions finished",
            aria_valuemin=0, aria_valuemax=100, aria_valuenow=0),
        tag("ul", tiles, class_="tiles", aria_label="Now", hidden=plan.kind == "monitor"),
        tag("div", id="reasons"),
        actions,
        tag("p", tag("span", plan.run), tag("span", Path(plan.workload_file).name), class_="identity"),
        id="verdict", class_="verdict cannot-tell",
    )  # fmt: skip


def _chart(identifier: str) -> list[Html]:
    return [
        tag("div", class_="controls", data_controls=identifier),
        tag("div", class_="charts one" if identifier == "throughput" else "charts", data_chart=identifier),
    ]


def _sections(kind: str) -> list[Html]:
    choose = tag(
        "div",
        tag("label", "Execution ", tag("select", tag("option", "the current one", value=""), id="execution")),
        tag("span", "", id="connection", class_="status", role="status"),
        class_="controls follow",
    )
    if kind == "monitor":
        find = tag(
            "label",
            "Find ",
            tag("input", type="search", id="find-metric", placeholder="metric or subject", autocomplete="off"),
        )
        return [
            tag(
                "div",
                tag("span", "", id="connection", class_="status", role="status"),
                tag("select", tag("option", value=""), id="execution", hidden=True),
                class_="controls follow",
            ),
            section(
                "readings",
                "Readings",
                tag("div", find, tag("span", "", id="readings-said", class_="caption"), class_="controls"),
                _chart("readings"),
            ),
            section("events", "What happened", tag("ol", id="event-list", class_="events")),
        ]
    return [
        choose,
        section("throughput", "Throughput over time", tag("p", "Messages in each second of the clock; a live line may be ahead of the evidence by some seconds and is replaced by it.", class_="caption"), _chart("throughput")),
        section("heat", "Latency over time", tag("p", "Every message, by the second in which it was due and its latency, from closed evidence segments. Lines: p50 and p99 of each second.", class_="caption"), _chart("heat")),
        section("limits", "What limits it, and the lag", tag("p", "Processors of agents, broker and host, the disk, and what consumers have not read yet.", class_="caption"), _chart("limits")),
        section("events", "What happened", tag("ol", id="event-list", class_="events")),
        section("executions", "Executions", tag("div", tag("table", tag("thead", tag("tr", [tag("th", h, scope="col") for h in ("Execution", "Cell", "State", "")])), tag("tbody", id="execution-rows")), class_="scroll", tabindex="0", role="region", aria_label="table")),
    ]  # fmt: skip
