"""Documents of a run: whole, or refused with the file's name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brokerlab.errors import DamagedFileError
from brokerlab.model.environment import Environment
from brokerlab.model.state import RunState
from brokerlab.results.directory import RunDirectory
from brokerlab.results.document import read_document
from synthetic import make_plan

PLAN = json.dumps(make_plan("r").model_dump(mode="json"))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    return RunDirectory(tmp_path_factory.mktemp("run"))


@given(st.integers(0, len(PLAN) - 1))
@settings(deadline=None)
def test_a_plan_cut_off_anywhere_is_refused_with_its_name(run: RunDirectory, length: int) -> None:
    file = run.path / "plan.json"
    file.write_text(PLAN[:length])
    with pytest.raises(DamagedFileError) as caught:
        run.plan()
    assert str(file) in caught.value.message
    assert f"brokerlab rm {run.name}" in str(caught.value.hint)


def test_a_field_of_the_wrong_kind_is_named(run: RunDirectory) -> None:
    value = json.loads(PLAN)
    value["cells"][1]["nodes"] = "many"
    (run.path / "plan.json").write_text(json.dumps(value))
    with pytest.raises(DamagedFileError, match=r"plan.json cannot be read: cells\.1\.nodes: "):
        run.plan()


def test_what_is_not_there_or_no_file_is_refused_alike(tmp_path: Path) -> None:
    for file, problem in ((tmp_path / "absent.json", "No such file"), (tmp_path, "Is a directory")):
        with pytest.raises(DamagedFileError, match=problem):
            read_document(file, RunState.model_validate_json, "look for it")


def test_a_run_that_has_not_begun_has_empty_documents(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path)
    assert (run.environment(), run.state(), run.verdict()) == (Environment(), RunState(), None)
