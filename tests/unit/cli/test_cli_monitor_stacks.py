"""monitor up, status, down and grafana, as far as no program is started."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from brokerlab.cli.main import cli
from brokerlab.cli.stack_text import next_lines, stack_lines

CHILD = {"name": "carbon", "does": "keeps points", "pid": 12, "state": "running", "restarts": 0, "last_end": None}
STATUS: dict[str, Any] = {
    "stack": "graphite",
    "state": "running",
    "addresses": {"web": "http://127.0.0.1:1", "carbon": "127.0.0.1:2"},
    "children": [CHILD],
    "versions": {"graphite": "1.1.10"},
    "uptime_s": 61.0,
    "directory": "/somewhere",
}


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("BROKERLAB_HOME", str(tmp_path / "home"))

    def call(*args: str) -> Result:
        return CliRunner().invoke(cli, ["monitor", *args])

    return call


def test_a_child_that_died_is_said_with_the_reason_and_the_time() -> None:
    died = CHILD | {"restarts": 2, "last_end": "killed by SIGKILL", "last_end_unix_s": 0.0}
    (line,) = (line for line in stack_lines(STATUS | {"children": [died]}) if "carbon" in line and "pid" in line)
    assert "started again 2 times: killed by SIGKILL at 1970-01-01 00:00:00 UTC" in line
    waiting = CHILD | {"pid": None, "state": "waiting to be started again"}
    assert any("no process" in line for line in stack_lines(STATUS | {"children": [waiting]}))


def test_what_can_be_done_next_names_the_port_of_carbon() -> None:
    assert any("--export graphite=127.0.0.1:2" in line for line in next_lines(STATUS))


def test_without_a_stack_status_says_so_and_down_is_the_users_mistake(run: Any) -> None:
    assert run("status").output == "no stack is up\n"
    assert json.loads(run("status", "--json").output) == []
    assert json.loads(run("status", "--stack", "graphite", "--json").output) == {"stack": "graphite", "state": "down"}
    assert run("down", "--stack", "graphite").exit_code == 2


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--stack", "graphit"), "graphite"),
        (("--stack", "prometheus", "--jmx", "127.0.0.1:1"), "--scrape"),
        (("--stack", "graphite", "--scrape", "127.0.0.1:1"), "--jmx"),
        (("--stack", "graphite", "--jmx", "nonsense"), "HOST:PORT"),
        (("--stack", "graphite", "--jmx", "127.0.0.1:1"), "does not answer"),
    ],
)
def test_a_wrong_up_is_refused_before_anything_is_fetched(
    run: Any, tmp_path: Path, args: tuple[str, ...], said: str
) -> None:
    answer = run("up", *args)
    assert answer.exit_code == 2
    assert said in answer.output
    assert not (tmp_path / "home").exists()


def test_grafana_writes_its_files_and_says_which_sources_they_name(run: Any, tmp_path: Path) -> None:
    made = json.loads(run("grafana", str(tmp_path / "g"), "--graphite", "http://127.0.0.1:1", "--json").output)
    assert made["graphite"] == "http://127.0.0.1:1"
    assert all(Path(path).is_file() for path in made["files"])
    assert run("grafana", str(tmp_path / "g"), "--prometheus", "nonsense").exit_code == 2
