"""The manifest: of two writers none is lost, and a writer that dies at any point leaves the last good state."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from brokerlab.errors import DamagedFileError, MachineError, UserError
from brokerlab.lake.manifest import KEPT, Entry, Manifest, commit, init, init_where_missing, kept, present
from brokerlab.lake.store import LocalStore


def entry(run: str, inputs: str = "one") -> Entry:
    return Entry(run=run, source=f"runs/{run}", inputs=inputs, brokerlab="0.2.0", batch="b", tables={})


def adding(run: str, inputs: str = "one") -> dict[str, Entry]:
    return {run: entry(run, inputs)}


@pytest.fixture
def store(tmp_path: Path) -> LocalStore:
    made = LocalStore(tmp_path / "lake")
    init(made)
    return made


class Interrupted(LocalStore):
    """Something happens just before one file is created."""

    def __init__(self, root: Path, path: str, event: Callable[[], None]) -> None:
        super().__init__(root)
        self.path, self.event = path, event

    def create(self, path: str, content: bytes) -> None:
        if path == self.path:
            self.event()
        super().create(path, content)


class Killed(BaseException):
    """The process is gone."""


def kill() -> None:
    raise Killed


@pytest.mark.parametrize("make", [init, init_where_missing])
def test_a_lake_whose_making_was_cut_off_is_made_by_the_next_process(
    tmp_path: Path, make: Callable[[LocalStore], None]
) -> None:
    store = LocalStore(tmp_path / "lake")
    with pytest.raises(Killed):
        init(Interrupted(store.root, "lake.json", kill))
    assert store.names("manifests") == ["00000000.json"]
    make(store)
    assert present(store).number == 0
    commit(store, lambda m: {**m.runs, **adding("a")})


@pytest.mark.parametrize("path", ["manifests/00000000.json", "lake.json"])
def test_of_two_that_make_a_lake_at_once_one_makes_it_and_both_can_use_it(tmp_path: Path, path: str) -> None:
    def other() -> None:
        init(LocalStore(tmp_path / "lake"))
        commit(LocalStore(tmp_path / "lake"), lambda m: {**m.runs, **adding("of the other")})

    slower = Interrupted(tmp_path / "lake", path, other)
    init_where_missing(slower)
    assert sorted(present(slower).runs) == ["of the other"]
    with pytest.raises(UserError, match="another process has just made it"):
        init(Interrupted(tmp_path / "second", path, lambda: init(LocalStore(tmp_path / "second"))))


@pytest.mark.parametrize("make", [init, init_where_missing])
def test_a_place_that_can_be_no_folder_is_not_taken_for_a_lake(
    tmp_path: Path, make: Callable[[LocalStore], None]
) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(NotADirectoryError, match="link"):
        make(LocalStore(tmp_path / "link"))


def test_many_writers_at_once_lose_no_commit(store: LocalStore) -> None:
    def write(writer: int) -> None:
        for number in range(5):
            commit(store, lambda m, run=f"{writer}-{number}": {**m.runs, **adding(run)})  # type: ignore[misc]

    writers = [threading.Thread(target=write, args=(n,)) for n in range(4)]
    for thread in writers:
        thread.start()
    for thread in writers:
        thread.join()
    found = present(store)
    assert sorted(found.runs) == sorted(f"{w}-{n}" for w in range(4) for n in range(5))
    assert found.number == 20


def test_a_writer_that_was_slower_commits_on_top_of_the_other(store: LocalStore) -> None:
    seen: list[list[str]] = []

    def slow(manifest: Manifest) -> dict[str, Entry]:
        if not seen:
            commit(store, lambda m: {**m.runs, **adding("fast")})
        seen.append(sorted(manifest.runs))
        return {**manifest.runs, **adding("slow")}

    commit(store, slow)
    assert seen == [[], ["fast"]]
    assert sorted(present(store).runs) == ["fast", "slow"]


def test_a_commit_that_changes_nothing_writes_nothing(store: LocalStore) -> None:
    commit(store, lambda m: {**m.runs, **adding("a")})
    before = store.names("manifests")
    assert commit(store, lambda m: dict(m.runs)).number == 1
    assert store.names("manifests") == before


def test_the_last_states_are_kept_and_earlier_ones_deleted(store: LocalStore) -> None:
    for number in range(KEPT + 10):
        commit(store, lambda m, n=number: {**m.runs, **adding("a", inputs=str(n))})  # type: ignore[misc]
    assert [m.number for m in kept(store)] == list(range(10, KEPT + 11))


@pytest.mark.parametrize("step", ["link", "fsync"])
def test_a_commit_cut_off_leaves_the_state_before(
    store: LocalStore, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit(store, lambda m: {**m.runs, **adding("a")})

    def cut_off(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr(os, step, cut_off)
        with pytest.raises(OSError, match="No space left"):
            commit(store, lambda m: {**m.runs, **adding("b")})
    assert sorted(present(store).runs) == ["a"]
    assert store.names("manifests") == ["00000000.json", "00000001.json"]
    commit(store, lambda m: {**m.runs, **adding("b")})
    assert sorted(present(store).runs) == ["a", "b"]


def test_what_a_killed_writer_left_is_no_state(store: LocalStore) -> None:
    (store.root / "manifests" / ".new-killed").write_text('{"number": 99')
    assert present(store).number == 0


def test_a_damaged_manifest_is_named_with_what_to_do(store: LocalStore) -> None:
    (store.root / "manifests" / "00000000.json").write_text("{}")
    with pytest.raises(DamagedFileError, match=r"manifests/00000000\.json cannot be read: number") as error:
        present(store)
    assert "lake init" in (error.value.hint or "")


def test_a_lake_of_a_newer_format_is_refused(store: LocalStore) -> None:
    (store.root / "lake.json").write_text('{"schema_version": 99}')
    with pytest.raises(DamagedFileError, match="update brokerlab"):
        present(store)


def test_a_writer_that_always_loses_gives_up(store: LocalStore) -> None:
    class Taken(LocalStore):
        def create(self, path: str, content: bytes) -> None:  # noqa: ARG002
            raise FileExistsError(path)

    with pytest.raises(MachineError, match="other writers were faster"):
        commit(Taken(store.root), lambda m: {**m.runs, **adding("a")})
