"""Where it ran: host, versions, driver paths, and the settings the brokers themselves reported."""

from __future__ import annotations

from typing import Any

from brokerlab.model.environment import Ceilings, CellEnvironment
from brokerlab.model.plan import ConsumersPlan
from brokerlab.report import figures
from brokerlab.report.markup import Child, Html, join, tag
from brokerlab.report.sections.answer import level_words
from brokerlab.report.source import Source

_APART = {"schema_version", "run", "cells", "host", "clock", "ceilings"}


def environment_section(source: Source) -> Html:
    environment = source.environment
    if environment is None:
        return tag(
            "section",
            tag("h2", "Environment and settings"),
            tag("p", "environment.json is missing.", class_="absent"),
            id="environment",
        )
    facts = environment.model_dump(mode="json", exclude=_APART, exclude_unset=True)
    host = environment.host.model_dump(mode="json", exclude_unset=True)
    return tag(
        "section",
        tag("h2", "Environment and settings"),
        tag(
            "div",
            tag("div", tag("h3", "Host"), _facts(host), class_="card"),
            tag("div", tag("h3", "Software"), _facts(facts), class_="card"),
            _ceilings(environment.ceilings),
            class_="cards",
        ),
        [_cell(source, c) for c in source.cells()],
        id="environment",
    )


def _ceilings(found: Ceilings | None) -> Html | None:
    """What the machine could do at most, where the workload asked for it."""
    if found is None:
        return None
    facts = {
        "disk write": f"{found.disk_write_bytes_per_s / 1e6:,.0f} MB/s, fsynced every 8 MiB",
        "fsync of 4 KiB": f"p50 {figures.duration(found.fsync_p50_ns)}, p99 {figures.duration(found.fsync_p99_ns)}",
        "loopback": f"{found.loopback_bytes_per_s / 1e6:,.0f} MB/s over one TCP connection",
        "disk of": found.directory,
        "used by other programs before": figures.cores(found.other_cores),
    }
    return tag("div", tag("h3", "Ceilings of this machine"), _facts(facts), class_="card")


def _facts(values: dict[str, Any]) -> Html:
    return tag("dl", [join(tag("dt", _name(k)), tag("dd", _value(k, v))) for k, v in values.items()], class_="facts")


def _name(key: str) -> str:
    return key.removesuffix("_bytes").replace("_", " ")


def _value(key: str, value: Any) -> Child:
    if value is None or value == "":
        return figures.ABSENT
    if key.endswith("_bytes") and isinstance(value, int | float):
        return figures.size(value)
    if isinstance(value, dict):
        return _facts(value)
    if isinstance(value, list | tuple):
        return ", ".join(str(v) for v in value)
    return str(value)


def _consumers(of: ConsumersPlan) -> str:
    name = f"{of.name}: " if of.name else ""
    return f"{name}{figures.plural(of.groups, 'group')} × {of.per_group}, {of.start_words()}"


def _cell(source: Source, cell: str) -> Html:
    known = source.cell_environment(cell)
    plan = source.cell_plan(cell)
    because = known.durability.because if known.durability is not None else {}
    facts = known.model_dump(mode="json", include={"broker", "version", "nodes", "driver_path"}, exclude_unset=True)
    if plan is not None:
        facts |= {
            "cluster": _cluster(known),
            "security": _security(source, cell),
            "destinations": f"{plan.destinations} × {figures.plural(plan.partitions, 'partition')}",
            "producers": f"{plan.producers.count} in {figures.plural(plan.producers.agents, 'agent')}",
            "consumers": "; ".join(map(_consumers, plan.consumer_sets)) or "none",
        }
        asked = {"client settings": plan.client_settings, "broker settings requested": plan.broker_settings}
        facts |= {k: v for k, v in asked.items() if v}
    reasons = [tag("li", tag("code", f"{k} = {v}")) for k, v in because.items()]
    settings = known.effective_settings
    count = sum(map(len, settings.values()))
    return tag(
        "details",
        tag(
            "summary",
            tag("b", source.label(cell)),
            tag("span", known.driver_path or "driver path not recorded", class_="where"),
        ),
        _facts(facts),
        tag(
            "p",
            tag("b", level_words(source.durability(cell))),
            " because the broker reports:" if reasons else " (no reason recorded)",
        ),
        tag("ul", reasons, class_="because") if reasons else None,
        tag(
            "details",
            tag("summary", f"{figures.plural(count, 'effective setting')} read back"),
            [_settings(s, v) for s, v in settings.items()],
            class_="more",
        )
        if count
        else tag("p", "No effective settings were read back.", class_="absent"),
        class_="more",
    )


def _cluster(known: CellEnvironment) -> str:
    kept = [e for e in known.executions.values() if (e.cluster_executions or 1) > 1]
    if not kept:
        return "" if not known.executions else "fresh for every execution"
    return f"kept: {len(kept)} of {figures.plural(len(known.executions), 'execution')} followed another one on it"


def _security(source: Source, cell: str) -> str:
    words = source.security(cell)
    return f"{words} (sent unencrypted)" if "without TLS" in words else words


def _settings(subject: str, values: dict[str, str]) -> Html:
    lines = [tag("tr", tag("th", k, scope="row"), tag("td", v)) for k, v in values.items()]
    table = tag("table", tag("caption", subject), tag("tbody", lines), class_="settings")
    return tag("div", table, class_="scroll", tabindex="0", role="region", aria_label=f"settings of {subject}")
