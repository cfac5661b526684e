"""brokerlab lake and query: what is printed, and the exit codes. (What a lake does with runs: tests/unit/lake.)"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from brokerlab.cli.main import cli
from synthetic_tables import Story, write_results

NAME = "20261117T110000-tables-bbbbbb"


def brokerlab(runs: Path, *words: str) -> Result:
    return CliRunner().invoke(cli, [*words, "--runs", str(runs)])


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    root = tmp_path / "runs"
    root.mkdir()
    assert brokerlab(root, "lake", "init").exit_code == 0
    return root


def test_a_lake_is_made_beside_the_runs_and_only_once(runs: Path) -> None:
    assert (runs.parent / "lake" / "lake.json").is_file()
    again = brokerlab(runs, "lake", "init")
    assert again.exit_code == 2
    assert "is a lake already" in again.stderr


def test_without_a_lake_every_command_says_how_to_make_one(tmp_path: Path) -> None:
    for words in (["lake", "add"], ["lake", "status"], ["lake", "check"], ["lake", "rebuild"], ["query", "SELECT 1"]):
        answer = brokerlab(tmp_path / "runs", *words)
        assert answer.exit_code == 2, words
        assert "brokerlab lake init" in answer.stderr


def test_status_names_new_runs_and_those_that_cannot_be_added(runs: Path) -> None:
    story = Story(cells=1, repeats=1, measure_s=2, warm_up_s=1, rate_per_s=50.0)
    path = write_results(runs / NAME, story).path
    found = json.loads(brokerlab(runs, "lake", "status", "--json").stdout)
    assert (found["new"], found["runs"], found["refused"]) == ([NAME], [], [])
    (path / "verdict.json").write_text("{")
    said = brokerlab(runs, "lake", "status").stdout
    assert "damaged:" in said
    assert "verdict.json" in said


def test_adding_names_what_was_refused_and_exits_by_who_must_act(runs: Path) -> None:
    story = Story(cells=1, repeats=1, measure_s=2, warm_up_s=1, rate_per_s=50.0)
    path = write_results(runs / NAME, story).path
    verdict = (path / "verdict.json").read_text()
    (path / "verdict.json").unlink()
    assert brokerlab(runs, "lake", "add").exit_code == 0
    assert brokerlab(runs, "lake", "add", NAME).exit_code == 2  # asked for by name
    (path / "verdict.json").write_text("{")
    damaged = brokerlab(runs, "lake", "add", "--json")
    assert damaged.exit_code == 3
    assert [r["why"] for r in json.loads(damaged.stdout)["refused"]] == ["damaged"]
    (path / "verdict.json").write_text(verdict)
    shutil.copytree(path, runs / "copy")
    assert brokerlab(runs, "lake", "add").exit_code == 2


def test_an_empty_lake_is_whole_and_can_be_asked(runs: Path) -> None:
    checked = brokerlab(runs, "lake", "check")
    assert checked.exit_code == 0
    assert "all as the manifest says" in checked.stdout
    assert json.loads(brokerlab(runs, "query", "SELECT count(*) AS n FROM runs", "--json").stdout) == [{"n": 0}]
    assert "n" in brokerlab(runs, "query", "SELECT count(*) AS n FROM delivery").stdout
    wrong = brokerlab(runs, "query", "DELETE FROM runs")
    assert wrong.exit_code == 2
