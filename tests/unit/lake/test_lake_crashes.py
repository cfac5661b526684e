"""A writer that dies at any point, and two writers at once: the lake stays whole."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from lake_runs import Place

from brokerlab.lake.check import check
from brokerlab.lake.ingest import add, delete_unused
from brokerlab.lake.store import LocalStore
from brokerlab.lake.survey import runs_below

Bring = Callable[..., list[Path]]


class Killed(BaseException):
    """The writer is gone: nothing of it runs any more."""


class DyingStore(LocalStore):
    """Dies at the first use of one operation after `calls` others."""

    def __init__(self, root: Path, operation: str, calls: int) -> None:
        super().__init__(root)
        self.operation, self.left = operation, calls

    def _step(self, operation: str) -> None:
        if operation == self.operation:
            if not self.left:
                raise Killed
            self.left -= 1

    def files(self, directory: str) -> dict[str, int]:
        self._step("files")
        return super().files(directory)

    def rows(self, path: str) -> int:
        self._step("rows")
        return super().rows(path)

    def create(self, path: str, content: bytes) -> None:
        self._step("create")
        super().create(path, content)

    def delete(self, path: str) -> None:
        self._step("delete")
        super().delete(path)


@pytest.mark.parametrize(
    ("operation", "calls", "without_spark"),
    [
        pytest.param("files", 0, 1000, id="its files are listed"),
        pytest.param("rows", 3, 1000, id="rows are counted"),
        pytest.param("rows", 3, 0, id="rows are counted that Spark wrote"),
        pytest.param("create", 0, 1000, id="the manifest is written"),
    ],
)
def test_a_writer_that_dies_before_its_commit_changes_nothing(
    place: Place, bring: Bring, filled: Bring, operation: str, calls: int, without_spark: int
) -> None:
    filled("bbbbbb")
    before = place.lake
    bring("cccccc")
    with pytest.raises(Killed):
        place.add(DyingStore(place.store.root, operation, calls), without_spark=without_spark)
    assert place.lake.manifest == before.manifest
    assert not check(place.lake).problems
    assert check(place.lake).unused  # what the dead writer left; a writer at work would look the same
    assert len(place.add(without_spark=without_spark).added) == 1
    assert len(place.lake.runs()) == 2
    assert not check(place.lake).problems


@pytest.mark.parametrize("calls", [0, 1, 2, 6])
def test_a_writer_that_dies_while_it_deletes_what_is_old_has_committed(
    place: Place, bring: Bring, filled: Bring, monkeypatch: pytest.MonkeyPatch, calls: int
) -> None:
    """The first to go is the manifest before last, then replaced rows, table by table. Spark has no part in it."""
    monkeypatch.setattr("brokerlab.lake.manifest.KEPT", 1)
    monkeypatch.setattr("brokerlab.lake.ingest.KEPT", 1)
    monkeypatch.setattr("brokerlab.lake.ingest.ABANDONED_AFTER", timedelta(seconds=-5))
    filled("bbbbbb")
    for _ in range(2):
        place.add(again=True)
    state = place.lake.manifest.number
    bring("cccccc")
    with pytest.raises(Killed):
        place.add(DyingStore(place.store.root, "delete", calls), again=True)
    assert place.lake.manifest.number == state + 1
    assert len(place.lake.runs()) == 2
    assert not check(place.lake).problems
    place.add(again=True)
    assert not check(place.lake).problems
    assert not check(place.lake).unused, "the next writer deletes what was left"


def test_what_a_dead_writer_left_is_deleted_after_a_day(
    place: Place, bring: Bring, monkeypatch: pytest.MonkeyPatch
) -> None:
    bring("bbbbbb")
    with pytest.raises(Killed):
        place.add(DyingStore(place.store.root, "create", 0))
    assert delete_unused(place.store) == 0
    monkeypatch.setattr("brokerlab.lake.ingest.ABANDONED_AFTER", timedelta(seconds=-5))
    assert delete_unused(place.store) > 0
    assert not check(place.lake).unused


def test_two_writers_at_once_add_each_run_once(place: Place, bring: Bring) -> None:
    bring("tables")
    done = []

    def write() -> None:
        done.append(add(place.store, runs_below(place.runs), place.session))

    writers = [threading.Thread(target=write) for _ in range(2)]
    for thread in writers:
        thread.start()
    for thread in writers:
        thread.join()
    assert len(done) == 2
    assert len(place.lake.runs()) == 2
    assert sorted(place.lake.dataset("runs").to_table()["run"].to_pylist()) == list(place.lake.runs())
    assert not check(place.lake).problems


def test_a_file_that_is_damaged_or_gone_is_found_by_the_check_and_mended_by_a_rebuild(
    place: Place, filled: Bring
) -> None:
    filled("bbbbbb")
    gone, cut, *_ = [place.store.root / f.path for f in place.lake.manifest.files("gold/delivery")] + [
        place.store.root / f.path for f in place.lake.manifest.files("gold/run_summary")
    ]
    gone.unlink()
    cut.write_bytes(cut.read_bytes()[:-4])
    problems = check(place.lake).problems
    assert [p for p in problems if "delivery" in p and "is not there" in p]
    assert [p for p in problems if "run_summary" in p and "the manifest says" in p]
    place.add(again=True)
    assert not check(place.lake).problems
