"""The manifest: of two writers none is lost, and a writer that dies at any point leaves the last good state."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from brokerlab.errors import DamagedFileError, MachineError
from brokerlab.lake.manifest import KEPT, Entry, Manifest, commit, init, kept, present
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
