"""Every kind of directory gets its answer before Spark starts."""

from __future__ import annotations

import fcntl
import json
import shutil
from pathlib import Path

import pytest
from lake_runs import SMALL

from brokerlab.lake.manifest import Entry, Manifest
from brokerlab.lake.survey import Why, inputs_of, runs_below, survey
from brokerlab.results.directory import RunDirectory
from synthetic_tables import write_results

EMPTY = Manifest(number=0)
NAME = "20261117T110000-tables-bbbbbb"


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    write_results(tmp_path / NAME, SMALL)
    return tmp_path


def refusal(runs: Path, manifest: Manifest = EMPTY) -> tuple[Why, str]:
    found = survey(runs_below(runs), manifest)
    (one,) = found.refused
    return one.why, one.text


def in_lake(path: Path, source: Path) -> Manifest:
    run = RunDirectory(path)
    entry = Entry(run=NAME, source=str(source), inputs=inputs_of(run), brokerlab="0.2.0", batch="b", tables={})
    return Manifest(number=1, runs={NAME: entry})


def test_a_finished_run_is_to_be_added(runs: Path) -> None:
    (runs / "notes").mkdir()  # no sign of a run
    found = survey(runs_below(runs), EMPTY)
    assert [c.run for c in found.to_do] == [NAME]
    assert not found.refused


def test_a_run_in_progress_waits(runs: Path) -> None:
    with (runs / NAME / "run.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        why, text = refusal(runs)
    assert why is Why.IN_PROGRESS
    assert "when it has finished" in text


def test_a_run_without_plan_is_named(runs: Path) -> None:
    (runs / NAME / "plan.json").unlink()
    why, text = refusal(runs)
    assert why is Why.NO_PLAN
    assert "plan.json" in text


def test_a_run_without_verdict_must_be_analyzed(runs: Path) -> None:
    (runs / NAME / "verdict.json").unlink()
    why, text = refusal(runs)
    assert why is Why.NOT_ANALYZED
    assert f"brokerlab analyze {NAME}" in text


@pytest.mark.parametrize("file", ["plan.json", "state.json", "environment.json", "verdict.json"])
def test_a_damaged_document_is_named(runs: Path, file: str) -> None:
    (runs / NAME / file).write_text('{"run": ')
    why, text = refusal(runs)
    assert why is Why.DAMAGED
    assert file in text


def test_a_table_cut_off_is_named_with_its_file(runs: Path) -> None:
    file = runs / NAME / "tables" / "delivery" / "part-0.parquet"
    file.write_bytes(file.read_bytes()[:-10])
    why, text = refusal(runs)
    assert why is Why.DAMAGED
    assert str(file) in text
    assert f"brokerlab analyze {NAME}" in text


def test_of_two_new_runs_with_one_id_neither_is_added(runs: Path) -> None:
    shutil.copytree(runs / NAME, runs / "copy")
    found = survey(runs_below(runs), EMPTY)
    assert not found.to_do
    assert [r.why for r in found.refused] == [Why.DOUBLE, Why.DOUBLE]
    assert str(runs / "copy") in found.refused[0].text
    assert str(runs / NAME) in found.refused[0].text


def test_a_run_that_the_lake_has_keeps_its_id(runs: Path) -> None:
    manifest = in_lake(runs / NAME, (runs / NAME).resolve())
    shutil.copytree(runs / NAME, runs / "copy")
    found = survey(runs_below(runs), manifest)
    assert found.same == (NAME,)
    assert [(r.path, r.why) for r in found.refused] == [(runs / "copy", Why.DOUBLE)]


def test_a_run_that_was_moved_is_still_the_same(runs: Path) -> None:
    manifest = in_lake(runs / NAME, runs / "where it was")
    found = survey(runs_below(runs), manifest)
    assert found.same == (NAME,)
    assert not found.refused


def test_a_run_that_changed_is_to_be_added_again(runs: Path) -> None:
    manifest = in_lake(runs / NAME, (runs / NAME).resolve())
    state = json.loads((runs / NAME / "state.json").read_text())
    (runs / NAME / "state.json").write_text(json.dumps({**state, "note": "added later"}))
    assert [c.run for c in survey(runs_below(runs), manifest).to_do] == [NAME]


def test_a_monitoring_run_is_named_and_not_added(runs: Path) -> None:
    plan = json.loads((runs / NAME / "plan.json").read_text())
    (runs / NAME / "plan.json").write_text(json.dumps({**plan, "kind": "monitor"}))
    assert refusal(runs) == (Why.WATCHED, f"{NAME} is a monitoring run; the lake holds runs with load")
