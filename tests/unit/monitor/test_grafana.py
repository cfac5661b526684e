"""Dashboards: what can be checked without Grafana's own types (tests/integration/test_grafana_schema.py has those)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from brokerlab.errors import UserError
from brokerlab.model.watched_here import HOST, JVM, LOAD
from brokerlab.monitor.grafana.dashboards import dashboards
from brokerlab.monitor.grafana.host_queries import COLLECTD, NODE_EXPORTER
from brokerlab.monitor.grafana.panels import UNITS
from brokerlab.monitor.grafana.provisioning import Sources, write_provisioning
from brokerlab.monitor.table import rows_of, systems, table

MADE = dashboards()
PANELS = [pytest.param(d.document(), id=d.uid) for d in MADE]


def test_there_is_a_dashboard_for_host_jvm_run_and_every_broker() -> None:
    uids = [d.uid for d in MADE]
    assert len(set(uids)) == len(uids)
    assert len({d.title for d in MADE}) == len(uids)
    wanted = {"host", "jvm", "run", *(s for s in systems() if rows_of(s, "broker"))}
    assert {f"brokerlab-prometheus-{name}" for name in wanted} <= set(uids)
    assert {f"brokerlab-graphite-{name}" for name in ("host", "jvm", "run", "kafka")} <= set(uids)


@pytest.mark.parametrize("document", PANELS)
def test_panels_have_unique_ids_a_source_by_variable_a_unit_a_legend_and_do_not_overlap(
    document: dict[str, Any],
) -> None:
    panels = document["panels"]
    assert panels
    assert [p["id"] for p in panels] == list(range(1, len(panels) + 1))
    assert len({p["title"] for p in panels}) == len(panels)
    cells: set[tuple[int, int]] = set()
    for panel in panels:
        assert panel["datasource"]["uid"] == "${source}"
        assert panel["fieldConfig"]["defaults"]["unit"] in {*UNITS.values(), "percentunit"}
        assert panel["description"]
        refs = [t["refId"] for t in panel["targets"]]
        assert len(set(refs)) == len(refs)
        assert all(refs)
        assert all(t["datasource"] == panel["datasource"] for t in panel["targets"])
        assert all(t.get("legendFormat", "named by the query") for t in panel["targets"])
        place = panel["gridPos"]
        own = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not own & cells
        assert place["x"] + place["w"] <= 24
        cells |= own


def test_every_row_of_the_load_the_jvm_and_each_broker_has_a_panel() -> None:
    expressions = {d.uid: " ".join(q.expression for p in d.panels for q in p.queries) for d in MADE}
    for row in LOAD.values():
        assert row.prometheus in expressions["brokerlab-prometheus-run"]
    for row in JVM.values():
        assert row.prometheus in expressions["brokerlab-prometheus-jvm"]
    for entry in table():
        if entry.system and entry.row.scope == "broker":
            assert entry.row.prometheus in expressions[f"brokerlab-prometheus-{entry.system}"]


def test_what_others_tell_of_the_host_is_named_by_rows_of_the_table() -> None:
    assert COLLECTD.keys() <= HOST.keys()
    assert NODE_EXPORTER.keys() <= HOST.keys()


def test_provisioning_names_sources_and_the_folder_of_the_dashboards(tmp_path: Path) -> None:
    written = write_provisioning(tmp_path, Sources(prometheus="http://127.0.0.1:1234"))
    sources = yaml.safe_load((tmp_path / "provisioning/datasources/brokerlab.yaml").read_text())["datasources"]
    assert {s["uid"]: s["url"] for s in sources}["brokerlab-prometheus"] == "http://127.0.0.1:1234"
    (provider,) = yaml.safe_load((tmp_path / "provisioning/dashboards/brokerlab.yaml").read_text())["providers"]
    found = sorted(Path(provider["options"]["path"]).glob("*.json"))
    assert len(found) == len(MADE) == len(written) - 2
    assert {json.loads(path.read_text())["uid"] for path in found} == {d.uid for d in MADE}
    variables = [v for path in found for v in json.loads(path.read_text())["templating"]["list"]]
    assert {v["current"]["value"] for v in variables if v["type"] == "datasource"} <= {s["uid"] for s in sources}


def test_an_address_that_is_no_url_is_the_users_mistake() -> None:
    with pytest.raises(UserError, match="--graphite must be a URL"):
        Sources(graphite="127.0.0.1:8080")
