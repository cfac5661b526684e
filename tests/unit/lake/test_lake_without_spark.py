"""A run or two are added without Spark: the same rows, from what the analysis has written down."""

from __future__ import annotations

import errno
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from lake_runs import WITH_EVIDENCE, Place

from brokerlab import lab
from brokerlab.errors import DiskFullError, MachineError
from brokerlab.lake.check import check
from brokerlab.lake.ingest import add
from brokerlab.lake.manifest import init
from brokerlab.lake.store import LocalStore
from brokerlab.lake.tables import PLACES
from brokerlab.results.directory import RunDirectory
from brokerlab.results.tables import EVIDENCE_FILE

Bring = Callable[..., list[Path]]


class Recorder:
    def __init__(self) -> None:
        self.notes: list[str] = []

    def stage(self, text: str) -> None: ...
    def progress(self, done: float, text: str) -> None: ...
    def note(self, text: str) -> None:
        self.notes.append(text)


def no_spark() -> None:
    raise AssertionError("Spark was started")


def added_without_spark(place: Place, *paths: Path) -> tuple[str, ...]:
    return add(place.store, paths, no_spark).added  # type: ignore[arg-type]


def test_the_rows_are_those_that_spark_writes(place: Place, bring: Bring) -> None:
    bring("evidence", "bbbbbb")
    place.add(without_spark=0)
    beside = LocalStore(place.root / "beside")
    init(beside)
    place.spark = None  # type: ignore[assignment]  # a use of it would raise
    place.add(beside, without_spark=2)
    from brokerlab.lake.reading import Lake

    light = Lake(beside)
    assert light.runs() == place.lake.runs()
    assert not check(light).problems
    for name in (place_name.partition("/")[2] for place_name in PLACES):
        by_spark, by_arrow = (x.dataset(name).to_table() for x in (place.lake, light))
        assert by_spark.schema.equals(by_arrow.schema), name
        assert sorted(map(str, by_spark.to_pylist())) == sorted(map(str, by_arrow.to_pylist())), name
        assert sum(f.rows for f in light.manifest.files(name)) == sum(f.rows for f in place.lake.manifest.files(name))


def test_evidence_is_read_again_only_where_it_changed_since_the_analysis(place: Place, bring: Bring) -> None:
    (path,) = bring("evidence")
    said: list[str] = []
    assert added_without_spark(place, path) == (WITH_EVIDENCE,)
    shutil.rmtree(path / "tables" / EVIDENCE_FILE.name)
    changed = add(place.store, [path], place.session, said.append)
    assert changed.changed == (WITH_EVIDENCE,)
    assert [text for text in said if "reading the evidence of 1 run again" in text]
    rows = place.lake.dataset("evidence_file").to_table().to_pylist()
    assert sum(row["set_aside"] for row in rows) == 1
    assert not check(place.lake).problems


@pytest.mark.parametrize("damage", ["touched", "gone", "new", "table cut"])
def test_what_the_analysis_wrote_down_counts_only_while_no_file_differs(
    place: Place, bring: Bring, damage: str
) -> None:
    (path,) = bring("evidence")
    victim = next((path / "evidence").glob("c01-r1/outcome/*.parquet"))
    if damage == "touched":
        victim.touch()
    elif damage == "gone":
        victim.unlink()
    elif damage == "new":
        shutil.copy(victim, victim.with_name("another.parquet"))
    else:
        next((path / "tables" / EVIDENCE_FILE.name).iterdir()).write_bytes(b"PAR1")
    with pytest.raises(AssertionError, match="Spark was started"):
        added_without_spark(place, path)


def test_a_run_that_has_ended_is_added_and_the_lake_is_made(tmp_path: Path, sources: dict[str, Path]) -> None:
    path = Path(shutil.copytree(sources[WITH_EVIDENCE], tmp_path / "runs" / WITH_EVIDENCE))
    said = Recorder()
    lab.keep_in_lake(RunDirectory(path), tmp_path / "lake", listener=said)
    assert said.notes == []
    (row,) = lab.query_lake(tmp_path / "lake", "SELECT run, executions_finished FROM runs").to_pylist()
    assert row == {"run": WITH_EVIDENCE, "executions_finished": 2}


def test_a_run_that_was_cut_off_is_not_added(tmp_path: Path, sources: dict[str, Path]) -> None:
    path = Path(shutil.copytree(sources[WITH_EVIDENCE], tmp_path / "runs" / WITH_EVIDENCE))
    state = json.loads((path / "state.json").read_text())
    state["executions"]["c01-r2"]["state"] = "running"
    (path / "state.json").write_text(json.dumps(state))
    lab.keep_in_lake(RunDirectory(path), tmp_path / "lake")
    assert not (tmp_path / "lake").exists()


def test_a_lake_that_cannot_be_used_is_a_note_and_not_the_result_of_the_run(
    tmp_path: Path, sources: dict[str, Path]
) -> None:
    (tmp_path / "file").write_text("not a folder")
    said = Recorder()
    lab.keep_in_lake(RunDirectory(sources[WITH_EVIDENCE]), tmp_path / "file" / "lake", listener=said)
    (note,) = said.notes
    assert note.startswith(f"not added to the lake {tmp_path / 'file' / 'lake'}: ")
    assert note.endswith("brokerlab lake add tries again")


class FullStore(LocalStore):
    """No space is left when the manifest is to be written."""

    def create(self, path: str, content: bytes) -> None:  # noqa: ARG002
        raise OSError(errno.ENOSPC, "No space left on device", str(self.root / path))


def test_a_full_lake_says_so_and_stays_as_it_was(place: Place, bring: Bring) -> None:
    bring("bbbbbb")
    place.add(without_spark=1)
    before = place.lake.manifest
    bring("cccccc")
    with pytest.raises(DiskFullError, match="no space left in the lake file:") as caught:
        place.add(FullStore(place.store.root), without_spark=1)
    assert caught.value.hint is not None
    assert "what was added before is whole" in caught.value.hint
    assert place.lake.manifest == before
    assert not check(place.lake).problems


def test_an_unreachable_lake_is_a_problem_of_the_machine(place: Place, bring: Bring) -> None:
    bring("bbbbbb")
    place.add(without_spark=1)
    (place.store.root / "gold").rename(place.store.root / "gold-away")
    (place.store.root / "gold").write_text("in the way")
    bring("cccccc")
    with pytest.raises(MachineError, match=r"cannot be used: .*gold"):
        place.add(without_spark=1)


def test_files_written_without_spark_have_their_run_in_the_path_alone(place: Place, bring: Bring) -> None:
    bring("bbbbbb")
    place.add(without_spark=1)
    for file in place.lake.manifest.files("gold/delivery"):
        assert "run" not in pq.read_schema(place.store.root / file.path).names
        assert "/run=20261117T110000-tables-bbbbbb/" in file.path
