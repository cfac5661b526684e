"""What is left to do in a run on disk, and which run the same command takes up again."""

from __future__ import annotations

from pathlib import Path

import pytest

from brokerlab.errors import BusyError
from brokerlab.results.directory import RunDirectory, write_json
from brokerlab.results.run_state import delete_run, in_progress, run_state, unfinished_run
from synthetic import make_plan

ORDER = ("c01-r1", "c02-r1", "c02-r2", "c01-r2")


def make_run(root: Path, states: dict[str, str], name: str = "20261115T120000-steady-abc123") -> RunDirectory:
    run = RunDirectory(root / name)
    write_json(run.path / "plan.json", make_plan(name).model_dump(mode="json"))
    write_json(run.path / "state.json", {"executions": {name: {"state": state} for name, state in states.items()}})
    return run


@pytest.mark.parametrize(
    ("states", "word"),
    [
        (("finished",) * 4, "complete"),
        (("finished", "failed", "finished", "finished"), "failed"),
        (("finished", "failed", "interrupted", "finished"), "incomplete"),
        (("finished",), "incomplete"),
        ((), "incomplete"),
    ],
)
def test_a_run_is_failed_only_when_nothing_is_left_to_do(tmp_path: Path, states: tuple[str, ...], word: str) -> None:
    assert run_state(make_run(tmp_path, dict(zip(ORDER, states, strict=False)))).word == word


def test_an_execution_that_was_cut_off_is_taken_up_again_and_one_that_failed_is_not(tmp_path: Path) -> None:
    run = make_run(tmp_path, dict.fromkeys(ORDER, "failed"))
    fingerprint = run.plan().fingerprint
    assert unfinished_run(tmp_path, fingerprint, print) is None, (
        "a failure is a result: it must not be repeated until it passes"
    )
    for left in ("running", "interrupted"):
        write_json(
            run.path / "state.json",
            {"executions": {name: {"state": "failed"} for name in ORDER} | {ORDER[2]: {"state": left}}},
        )
        assert unfinished_run(tmp_path, fingerprint, print) == run
    assert unfinished_run(tmp_path, "another plan", print) is None
    assert unfinished_run(tmp_path / "nowhere", fingerprint, print) is None


def test_a_run_with_a_damaged_plan_is_passed_over_and_named(tmp_path: Path) -> None:
    run = make_run(tmp_path, {})
    damaged = make_run(tmp_path, {}, "20261116T120000-steady-abc123")
    fingerprint = run.plan().fingerprint
    (damaged.path / "plan.json").write_text("{")
    notes: list[str] = []
    assert unfinished_run(tmp_path, fingerprint, notes.append) == run
    assert str(damaged.path / "plan.json") in notes[0]


def test_only_the_newest_run_of_a_plan_is_taken_up_again(tmp_path: Path) -> None:
    older = make_run(tmp_path, {})
    make_run(tmp_path, dict.fromkeys(ORDER, "finished"), "20261116T120000-steady-abc123")
    assert unfinished_run(tmp_path, older.plan().fingerprint, print) is None


def test_a_run_in_progress_is_not_deleted(tmp_path: Path) -> None:
    import fcntl

    run = make_run(tmp_path, {})
    with (run.path / "run.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert in_progress(run)
        with pytest.raises(BusyError):
            delete_run(run)
    assert not in_progress(run)
    delete_run(run)
    assert list(tmp_path.iterdir()) == []
