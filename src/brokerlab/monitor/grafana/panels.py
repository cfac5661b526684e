"""Panels and dashboards in Grafana's JSON, as small values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Kind = Literal["graphite", "prometheus"]
SCHEMA_VERSION = 39
_COLUMNS, _WIDTH, _HEIGHT = 24, 8, 7
# UCUM, as the table of metrics writes units -> Grafana's names
UNITS = {"1": "short", "By": "bytes", "s": "s", "{cpu}": "none", "1/s": "ops", "By/s": "Bps"}


@dataclass(frozen=True)
class Query:
    """`expression` in the language of the data source; `legend` is Prometheus' pattern, or "" where it names itself."""

    expression: str
    legend: str = ""


@dataclass(frozen=True)
class Panel:
    title: str
    description: str
    unit: str  # one of Grafana's
    queries: tuple[Query, ...]


@dataclass(frozen=True)
class Variable:
    """A choice above the panels: the values of a label, or of a part of a path."""

    name: str
    label: str
    query: str


@dataclass(frozen=True)
class Dashboard:
    uid: str
    title: str
    kind: Kind
    panels: tuple[Panel, ...]
    variables: tuple[Variable, ...] = ()
    tags: tuple[str, ...] = field(default=("brokerlab",))

    def document(self) -> dict[str, Any]:
        """The JSON that Grafana imports."""
        source = {"type": self.kind, "uid": "${source}"}
        return {
            "uid": self.uid,
            "title": self.title,
            "description": "Made by brokerlab from its table of metrics.",
            "tags": [*self.tags, self.kind],
            "schemaVersion": SCHEMA_VERSION,
            "version": 1,
            "editable": True,
            "graphTooltip": 1,  # one cursor for all panels
            "refresh": "5s",
            "time": {"from": "now-15m", "to": "now"},
            "timezone": "utc",
            "templating": {"list": [self._source_variable(), *(self._variable(v, source) for v in self.variables)]},
            "panels": [_panel(panel, i, self.kind, source) for i, panel in enumerate(self.panels)],
        }

    def _source_variable(self) -> dict[str, Any]:
        uid = source_uid(self.kind)
        return {
            "name": "source",
            "label": "Data source",
            "type": "datasource",
            "query": self.kind,
            "current": {"selected": True, "text": uid, "value": uid},
            "hide": 0,
        }

    def _variable(self, variable: Variable, source: dict[str, str]) -> dict[str, Any]:
        return {
            "name": variable.name,
            "label": variable.label,
            "type": "query",
            "datasource": source,
            "query": variable.query,
            "refresh": 2,  # when the time range changes
            "includeAll": True,
            "multi": True,
            "allValue": ".*" if self.kind == "prometheus" else "*",
            "current": {"selected": True, "text": "All", "value": "$__all"},
        }


def source_uid(kind: Kind) -> str:
    return f"brokerlab-{kind}"


def _panel(panel: Panel, number: int, kind: Kind, source: dict[str, str]) -> dict[str, Any]:
    across = _COLUMNS // _WIDTH
    place = {"x": number % across * _WIDTH, "y": number // across * _HEIGHT, "w": _WIDTH, "h": _HEIGHT}
    return {
        "id": number + 1,
        "type": "timeseries",
        "title": panel.title,
        "description": panel.description,
        "datasource": source,
        "gridPos": place,
        "fieldConfig": {"defaults": {"unit": panel.unit, "custom": {"fillOpacity": 10, "showPoints": "never"}}, "overrides": []},
        "options": {
            "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True, "calcs": []},
            "tooltip": {"mode": "multi", "sort": "desc"},
        },
        "targets": _targets(panel.queries, kind, source),
    }  # fmt: skip


def _targets(queries: Sequence[Query], kind: Kind, source: dict[str, str]) -> list[dict[str, Any]]:
    found = []
    for i, query in enumerate(queries):
        one: dict[str, Any] = {"refId": chr(ord("A") + i), "datasource": source}
        if kind == "prometheus":
            one |= {"expr": query.expression, "legendFormat": query.legend, "range": True}
        else:
            one |= {"target": query.expression}
        found.append(one)
    return found
