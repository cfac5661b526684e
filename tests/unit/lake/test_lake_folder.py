"""A lake that is a folder: made by the first run that ends, and a clear error where it cannot be reached."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from click.testing import CliRunner
from lake_runs import SMALL

from brokerlab import lab
from brokerlab.cli.main import cli
from brokerlab.errors import MachineError
from brokerlab.lake.reading import Lake
from brokerlab.lake.store import LocalStore
from brokerlab.results.directory import RunDirectory
from synthetic_tables import write_results

NAMES = ("20261117T110000-tables-bbbbbb", "20261117T120000-tables-cccccc")


class Notes:
    def __init__(self) -> None:
        self.notes: list[str] = []

    def stage(self, text: str) -> None: ...
    def progress(self, done: float, text: str) -> None: ...
    def note(self, text: str) -> None:
        self.notes.append(text)


@pytest.fixture
def runs(tmp_path: Path) -> list[RunDirectory]:
    return [write_results(tmp_path / "runs" / name, SMALL, seed=n) for n, name in enumerate(NAMES)]


def test_two_runs_that_end_at_once_make_one_lake_and_both_are_in_it(
    tmp_path: Path, runs: list[RunDirectory], monkeypatch: pytest.MonkeyPatch
) -> None:
    both = threading.Barrier(2, timeout=60)
    create = LocalStore.create

    def together(self: LocalStore, path: str, content: bytes) -> None:
        if path in ("manifests/00000000.json", "lake.json"):  # both have seen that there is no lake
            both.wait()
        create(self, path, content)

    monkeypatch.setattr(LocalStore, "create", together)
    said = Notes()
    ending = [
        threading.Thread(target=lab.keep_in_lake, args=(run, tmp_path / "lake"), kwargs={"listener": said})
        for run in runs
    ]
    for thread in ending:
        thread.start()
    for thread in ending:
        thread.join()
    assert said.notes == []
    assert Lake(LocalStore(tmp_path / "lake")).runs() == NAMES


@pytest.mark.parametrize(
    "words",
    [
        ["lake", "init"],
        ["lake", "add"],
        ["lake", "status"],
        ["lake", "check"],
        ["lake", "rebuild"],
        ["query", "SELECT 1"],
        ["compare", *NAMES],
        ["history"],
        ["export", "csv"],
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("place", ["under a file", "a link that leads nowhere"])
def test_a_lake_that_cannot_be_reached_is_named_with_its_address(tmp_path: Path, words: list[str], place: str) -> None:
    (tmp_path / "file").write_text("not a folder")
    (tmp_path / "link").symlink_to(tmp_path / "file" / "nothing")
    lake = tmp_path / ("file" if place == "under a file" else "link") / "lake"
    answer = CliRunner().invoke(cli, [*words, "--lake", str(lake)])
    assert answer.exit_code == 3, answer.output
    assert f"the lake {lake.as_uri()} cannot be used: " in answer.stderr
    assert "check the address" in answer.stderr


def test_an_error_of_a_folder_above_the_lake_is_one_of_the_lake_and_others_are_not(tmp_path: Path) -> None:
    with pytest.raises(MachineError, match="cannot be used"), lab.lake_store(tmp_path / "above" / "lake"):
        raise PermissionError(13, "Permission denied", str(tmp_path / "above"))
    with pytest.raises(PermissionError), lab.lake_store(tmp_path / "above" / "lake"):
        raise PermissionError(13, "Permission denied", str(tmp_path / "runs" / "plan.json"))
