"""Every dashboard against Grafana's own types: @grafana/schema as a JSON Schema. Needs npm and its registry."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from brokerlab.monitor.grafana.dashboards import dashboards

PROGRAMS = Path(__file__).parents[1] / "grafana_schema"
RAW = "node_modules/@grafana/schema/dist/types/raw"
TYPES = {
    "Dashboard": f"{RAW}/dashboard/x/types.gen.d.ts",
    "Options": f"{RAW}/composable/timeseries/panelcfg/x/types.gen.d.ts",
    "FieldConfig": f"{RAW}/composable/timeseries/panelcfg/x/types.gen.d.ts",
}
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory) -> Callable[[dict[str, Any]], list[str]]:
    """What is wrong with a dashboard."""
    if shutil.which("npm") is None:
        pytest.skip("needs npm")
    work = tmp_path_factory.mktemp("schema")
    shutil.copytree(PROGRAMS, work, dirs_exist_ok=True)
    _run(work, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent")
    (work / "schemas").mkdir()
    for name, path in TYPES.items():
        generate = ["node_modules/.bin/ts-json-schema-generator", "--no-type-check", "--tsconfig", "tsconfig.json"]
        _run(work, *generate, "--path", path, "--type", name, "-o", f"schemas/{name}.json")

    def check(document: dict[str, Any]) -> list[str]:
        (work / "one.json").write_text(json.dumps(document))
        wrong: list[str] = json.loads(_run(work, "node", "check.js", "schemas", "one.json"))
        return wrong

    return check


def _run(work: Path, *command: str) -> str:
    done = subprocess.run(command, cwd=work, capture_output=True, text=True, timeout=250, check=False)
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


def test_grafanas_types_accept_every_dashboard(checked: Callable[[dict[str, Any]], list[str]]) -> None:
    for dashboard in dashboards():
        assert checked(dashboard.document()) == [], dashboard.uid


def test_grafanas_types_refuse_a_wrong_type_and_an_unknown_key(checked: Callable[[dict[str, Any]], list[str]]) -> None:
    document = dashboards()[0].document()
    assert any("schemaVersion" in line for line in checked({**document, "schemaVersion": "39"}))
    assert any("timezon" in line for line in checked({**document, "timezon": "utc"}))
    document["panels"][0]["options"]["legend"]["placement"] = "left"
    assert any("placement" in line for line in checked(document))
