"""report.html: verdict first, then the answer, then everything that stands behind it."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from brokerlab.report.embedded import page_data
from brokerlab.report.markup import Html, join, script_json, tag
from brokerlab.report.sections.answer import answer_section
from brokerlab.report.sections.charts import heat_section, spectrum_section, throughput_section
from brokerlab.report.sections.cost import cost_section, has_costs
from brokerlab.report.sections.delivery import delivery_section
from brokerlab.report.sections.environment import environment_section
from brokerlab.report.sections.faults import faults_section, has_faults
from brokerlab.report.sections.headline import headline_section
from brokerlab.report.sections.limits import limits_section
from brokerlab.report.sections.load import load_section
from brokerlab.report.sections.method import method_section, raw_section
from brokerlab.report.sections.scaling import scaling_section
from brokerlab.report.sections.verdict import WORDS, verdict_section
from brokerlab.report.source import Source, read_source
from brokerlab.results.directory import RunDirectory

STYLES = ("uplot.min.css", "report.css")
SCRIPTS = ("uplot.iife.min.js", "data.js", "lines.js", "heat.js", "history.js", "raw.js", "report.js")
_NAVIGATION = (
    ("load", "Load"), ("headline", "Headline"), ("throughput", "Throughput"), ("spectrum", "Percentiles"), ("heat", "Latency"),
    ("delivery", "Delivery"), ("limits", "Limits"), ("environment", "Environment"), ("method", "Method"), ("raw", "Raw numbers"),
)  # fmt: skip
# Nothing may be fetched: the page says so to the browser, which then holds us to it.
_POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
_NOTHING = Html("")


@dataclass(frozen=True)
class Site:
    """Where a page stands. Alone, it carries its styles and scripts and fetches nothing; in a server's site it links those
    under `assets`, with `head` and `above` added to every page."""

    assets: str | None = None
    head: Html = _NOTHING
    above: Html = _NOTHING


ALONE = Site()


def write_report(run: RunDirectory) -> Path:
    """Write report.html of a run, whole or not at all, from what its directory holds. Returns its path."""
    page = run_page(run)
    fd, temporary = tempfile.mkstemp(dir=run.path, prefix=".report.html.")
    try:
        with os.fdopen(fd, "w", encoding="utf-8") as f:
            f.write(page)
            f.flush()
            os.fsync(f.fileno())
        Path(temporary).chmod(0o644)
        Path(temporary).replace(run.report_file)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return run.report_file


def run_page(run: RunDirectory, site: Site = ALONE) -> str:
    """The page of a run, with a load or only watched, from what its directory holds."""
    source = read_source(run)
    if source.plan is None or source.plan.kind != "monitor" or source.verdict is None:
        return render(source, site)
    from brokerlab.report.watched_page import watched_page

    title, body, data = watched_page(run, source.plan, source.verdict)
    return shell(title, body, data, ("watched.js",), site)


def render(source: Source, site: Site = ALONE) -> str:
    """The whole page as text."""
    name = source.plan.name if source.plan else source.run
    word = WORDS[source.verdict.verdict if source.verdict else "not analyzed"]
    return document(f"{word}: {name}", _body(source, site), site)


def document(title: str, body: Html, site: Site = ALONE) -> str:
    """An HTML page around `body`, in the style of the report."""
    content = tag("body", site.above, body)
    return "<!doctype html>\n" + tag("html", _head(title, site), content, lang="en") + "\n"


def _head(title: str, site: Site) -> Html:
    return tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", http_equiv="Content-Security-Policy", content=_POLICY) if site.assets is None else None,
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", title),
        tag("style", Html("\n".join(asset(s) for s in STYLES)))
        if site.assets is None
        else [tag("link", rel="stylesheet", href=f"{site.assets}/{s}") for s in STYLES],
        site.head,
    )


def scripts(names: tuple[str, ...], site: Site = ALONE) -> list[Html]:
    """Elements that run these assets, in order."""
    if site.assets is None:
        return [tag("script", Html(asset(s))) for s in names]
    return [tag("script", src=f"{site.assets}/{s}") for s in names]


def theme_button() -> Html:
    return tag("button", "Dark", type="button", id="theme", aria_label="Colour theme")


def shell(title: str, body: Html, data: dict[str, Any], own_scripts: tuple[str, ...] = (), site: Site = ALONE) -> str:
    """A page with the same style and chart scripts, drawn from `data`. `own_scripts` are assets that only this
    page needs; the last of the common scripts starts them."""
    parts = join(
        body,
        theme_button(),
        script_json("data", {"cells": [], "measures": [], "tables": {}, **data}),
        scripts((*SCRIPTS[:-1], *own_scripts, SCRIPTS[-1]), site),
    )
    return document(title, parts, site)


def _body(source: Source, site: Site) -> Html:
    parts = [*([("faults", "Fault")] if has_faults(source) else []), *_NAVIGATION]
    if len(source.table("scaling")):
        parts.insert(parts.index(("throughput", "Throughput")), ("scaling", "Scaling"))
    if has_costs(source):
        parts.insert(parts.index(("limits", "Limits")), ("cost", "Cost"))
    links = [tag("a", text, href=f"#{target}") for target, text in parts]
    return join(
        tag(
            "main",
            verdict_section(source),
            answer_section(source),
            faults_section(source),
            tag("nav", links, aria_label="Parts of this report"),
            load_section(source),
            headline_section(source),
            scaling_section(source),
            throughput_section(source),
            spectrum_section(source),
            heat_section(source),
            delivery_section(source),
            cost_section(source),
            limits_section(source),
            environment_section(source),
            method_section(source),
            raw_section(source),
        ),
        tag(
            "footer",
            "Made by brokerlab from the run directory alone. To make it again: ",
            tag("code", f"brokerlab report {source.run}"),
            ".",
        ),
        theme_button(),
        script_json("data", page_data(source)),
        scripts(SCRIPTS, site),
    )


def asset(name: str) -> str:
    """The text of a style or script of ours."""
    text = (files("brokerlab.report") / "assets" / name).read_text(encoding="utf-8")
    if "</script" in text or "</style" in text:
        raise ValueError(f"{name} would end its own element")
    return text
