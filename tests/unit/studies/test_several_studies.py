"""Several studies in one go: an error of one does not take the others with it, and the exit code tells it."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from brokerlab import lab
from brokerlab.cli.commands.study import command
from brokerlab.errors import BrokerError, ExitCode, InterruptedRunError, MachineError
from brokerlab.studies import answer as answering
from brokerlab.studies.answer import Place, StudyAnswer, run_several
from brokerlab.studies.load import Study, load_study
from study_runs import STUDY, write_study


def study(root: Path, name: str) -> Study:
    return load_study(write_study(root / name, STUDY.replace("name: tiny", f"name: {name}")))


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Running is left out: a study is what it was before, or ends with the error that is put in here by its name."""
    said: dict[str, Any] = {"order": []}

    def run(wanted: Study, scale: str, place: Place, **_: object) -> StudyAnswer:
        said["order"].append(wanted.name)
        if wanted.name in said:
            raise said[wanted.name]
        return answering.answer(wanted, scale, place)

    monkeypatch.setattr(answering, "run", run)
    return said


def test_an_error_of_one_study_is_noted_and_the_others_are_run_and_shown(ran: dict[str, Any], tmp_path: Path) -> None:
    studies = [study(tmp_path, name) for name in ("first", "second", "third")]
    ran["first"] = BrokerError("node 1 did not start")
    ran["third"] = MachineError("the disk is full")
    found = run_several(studies, "quick", Place(tmp_path / "runs", "", nullcontext))
    assert ran["order"] == ["first", "second", "third"]
    assert list(found.errors) == ["first", "third"]
    assert found.exit_code == ExitCode.BROKER  # the first error's
    assert [a.study.name for a in found.answers] == ["first", "second", "third"]
    assert found.page == tmp_path / "runs" / "studies" / "all-quick.html"
    text = found.page.read_text()
    assert all(f'id="{name}"' in text for name in ("first", "second", "third"))


@pytest.mark.usefixtures("ran")
def test_without_errors_the_exit_code_is_that_of_success(tmp_path: Path) -> None:
    found = run_several([study(tmp_path, "first")], "quick", Place(tmp_path / "runs", "", nullcontext))
    assert (found.errors, found.exit_code) == ({}, ExitCode.OK)


@pytest.mark.usefixtures("ran")
def test_a_study_that_cannot_even_be_planned_is_left_out_of_the_page(tmp_path: Path) -> None:
    studies = [study(tmp_path, name) for name in ("first", "second")]
    (tmp_path / "first" / "rates.yaml").unlink()
    found = run_several(studies, "quick", Place(tmp_path / "runs", "", nullcontext))
    assert list(found.errors) == ["first"]
    assert [a.study.name for a in found.answers] == ["second"]
    assert found.exit_code == ExitCode.USER


def test_an_interruption_ends_all(ran: dict[str, Any], tmp_path: Path) -> None:
    ran["first"] = InterruptedRunError("stopped")
    with pytest.raises(InterruptedRunError):
        run_several(
            [study(tmp_path, n) for n in ("first", "second")], "quick", Place(tmp_path / "runs", "", nullcontext)
        )
    assert ran["order"] == ["first"]


def test_the_command_shows_what_it_has_names_the_error_and_ends_with_its_code(
    ran: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = [study(tmp_path, name) for name in ("first", "second")]
    monkeypatch.setattr(lab, "studies", lambda _wanted="all": both)
    ran["first"] = BrokerError("node 1 did not start")
    said = CliRunner().invoke(
        command, ["run", "all", "--runs", str(tmp_path / "runs")], standalone_mode=False, catch_exceptions=False
    )
    assert said.return_value == ExitCode.BROKER
    assert "error: study first: node 1 did not start" in said.stderr
    assert "second, scale quick" in said.stdout
    assert f"all: {tmp_path / 'runs' / 'studies' / 'all-quick.html'}" in said.stdout
