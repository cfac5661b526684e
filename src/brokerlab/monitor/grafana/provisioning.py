"""What a Grafana reads at its start: data sources, where dashboards are, and the dashboards."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import yaml

from brokerlab.errors import UserError
from brokerlab.monitor.grafana.dashboards import dashboards
from brokerlab.monitor.grafana.panels import Kind, source_uid

# Where these programs usually are, for a Grafana whose sources are not running now.
_USUAL: dict[Kind, str] = {"graphite": "http://127.0.0.1:8080", "prometheus": "http://127.0.0.1:9090"}


@dataclass(frozen=True)
class Sources:
    """Addresses of data sources; None for the usual one."""

    graphite: str | None = None
    prometheus: str | None = None

    def __post_init__(self) -> None:
        for kind, url in self.urls().items():
            if not url.startswith(("http://", "https://")):
                raise UserError(f"--{kind} must be a URL, got {url!r}", hint=f"for example {_USUAL[kind]}")

    def urls(self) -> dict[Kind, str]:
        return {
            "graphite": self.graphite or _USUAL["graphite"],
            "prometheus": self.prometheus or _USUAL["prometheus"],
        }


def data_sources(sources: Sources) -> str:
    urls = sources.urls()
    common = {"access": "proxy", "isDefault": False, "editable": True}
    graphite = {
        "name": "brokerlab Graphite",
        "type": "graphite",
        "uid": source_uid("graphite"),
        "url": urls["graphite"],
    }
    prometheus = {
        "name": "brokerlab Prometheus",
        "type": "prometheus",
        "uid": source_uid("prometheus"),
        "url": urls["prometheus"],
    }
    # Rates are taken over four of these: our own page has news every few seconds.
    more = {"httpMethod": "POST", "timeInterval": "5s"}
    graphite_more = {"graphiteVersion": "1.1"}
    listed = [{**graphite, **common, "jsonData": graphite_more}, {**prometheus, **common, "jsonData": more}]
    return yaml.safe_dump({"apiVersion": 1, "datasources": listed}, sort_keys=False)


def provider(folder: Path) -> str:
    one = {
        "name": "brokerlab",
        "folder": "brokerlab",
        "type": "file",
        "disableDeletion": False,
        "updateIntervalSeconds": 30,
        "allowUiUpdates": True,
        "options": {"path": str(folder)},
    }
    return yaml.safe_dump({"apiVersion": 1, "providers": [one]}, sort_keys=False)


def write_provisioning(directory: Path, sources: Sources) -> list[Path]:
    """Write everything; returns the files."""
    made = dashboards()
    files = {
        directory / "provisioning" / "datasources" / "brokerlab.yaml": data_sources(sources),
        directory / "provisioning" / "dashboards" / "brokerlab.yaml": provider(directory / "dashboards"),
    }
    for dashboard in made:
        text = json.dumps(dashboard.document(), indent=1) + "\n"
        files[directory / "dashboards" / f"{dashboard.uid}.json"] = text
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return list(files)
