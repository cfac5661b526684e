"""Runs into the lake: every row arrives once, from runs of every age, and only new or changed runs are processed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
from lake_runs import WITH_EVIDENCE, Place, spoil_rows

from brokerlab import lake as lakes
from brokerlab.errors import MeasurementError, NotFoundError, UserError
from brokerlab.lake.check import check
from brokerlab.lake.manifest import init
from brokerlab.lake.reconcile import all_written
from brokerlab.lake.survey import Why
from brokerlab.lake.tables import GOLD
from brokerlab.results.directory import RunDirectory
from brokerlab.results.reader import read_rows, read_table
from brokerlab.results.tables import RESULT_TABLES

Bring = Callable[..., list[Path]]


def duck(place: Place, query: str, table: str) -> list[tuple[Any, ...]]:
    """DuckDB on the files that the manifest names: it knows nothing of our readers."""
    files = [str(place.store.root / f.path) for f in place.lake.manifest.files(f"gold/{table}")]
    with duckdb.connect() as connection:
        return connection.execute(query, [files]).fetchall()


def runs_of(place: Place) -> list[RunDirectory]:
    return [RunDirectory(path) for path in place.runs.iterdir()]


def rows_of(place: Place, table: str, run: str) -> list[dict[str, Any]]:
    """By pyarrow, in the order of the lake."""
    return [row for row in place.lake.dataset(table).to_table().to_pylist() if row["run"] == run]


def test_every_row_of_every_run_is_in_the_lake_once(full: Place) -> None:
    runs = runs_of(full)
    assert len(runs) == 4
    assert sorted(full.added) == sorted(run.plan().run for run in runs)
    for name, table in RESULT_TABLES.items():
        expected = {run.plan().run: read_table(run, table).num_rows for run in runs}
        found = full.lake.dataset(name).to_table(columns=["run"])["run"].to_pylist()
        assert {run: found.count(run) for run in expected} == expected, name
    assert not check(full.lake).problems


def test_duckdb_finds_the_sums_of_the_run_directories_in_gold(full: Place) -> None:
    query = (
        "SELECT run, sum(sent)::BIGINT, sum(received)::BIGINT, sum(lost)::BIGINT"
        " FROM read_parquet(?, hive_partitioning = true, hive_types_autocast = false) GROUP BY run ORDER BY run"
    )
    expected = []
    for run in sorted(runs_of(full), key=lambda run: run.plan().run):
        rows = read_rows(run, RESULT_TABLES["delivery"])
        expected.append((run.plan().run, *(sum(r[c] for r in rows) for c in ("sent", "received", "lost"))))
    assert duck(full, query, "delivery") == expected


def test_spark_and_pyarrow_read_the_same_rows(full: Place) -> None:
    lake = lakes.open(full.store.uri)
    for name in ("run_summary", "agent_health", "latency_histogram", "runs", "cells", "evidence_count", "fault"):
        by_spark = lake.frame(name, full.spark).toArrow()
        by_arrow = lake.dataset(name).to_table().select(by_spark.column_names)
        assert sorted(map(str, by_spark.to_pylist())) == sorted(map(str, by_arrow.to_pylist())), name


def test_runs_of_the_first_version_have_defaults_in_later_columns(full: Place) -> None:
    (old,) = [run.plan().run for run in runs_of(full) if "two-brokers" in run.name]
    rows = rows_of(full, "agent_health", old)
    assert rows
    assert {row["counted"] for row in rows} == {True}
    assert {row["longest_pause_ns"] for row in rows} == {0}


def test_bronze_names_every_file_and_silver_says_what_broke_a_rule(full: Place) -> None:
    path = full.runs / WITH_EVIDENCE
    files = rows_of(full, "evidence_file", WITH_EVIDENCE)
    on_disk = {p.relative_to(path).as_posix(): p.stat().st_size for p in path.glob("e*/*/*/*.parquet")}
    on_disk |= {p.relative_to(path).as_posix(): p.stat().st_size for p in path.glob("probes/*/*/*.parquet")}
    assert {row["file"]: row["bytes"] for row in files} == on_disk
    counts = rows_of(full, "evidence_count", WITH_EVIDENCE)
    assert sum(row["rows"] for row in files) == sum(row["rows"] for row in counts)
    assert [(r["table"], r["execution"], r["set_aside"]) for r in counts if r["set_aside"]] == [
        ("activity", "c01-r1", 1)
    ]
    assert [(r["table"], r["execution"]) for r in counts if r["unreadable_files"]] == [("interval", "c01-r2")]
    (aside,) = rows_of(full, "quarantined_row", WITH_EVIDENCE)
    assert "elapsed" in aside["reason"]
    (spoiled,) = [row["file"] for row in files if row["set_aside"]]
    assert (aside["file"], aside["file_row"]) == (spoiled, 0)
    assert json.loads(aside["row"])["elapsed_ns"] == -1


def test_the_table_of_runs_says_what_was_asked_and_found(full: Place) -> None:
    run = RunDirectory(full.runs / WITH_EVIDENCE)
    verdict = run.verdict()
    assert verdict is not None
    (row,) = rows_of(full, "runs", WITH_EVIDENCE)
    assert (row["run"], row["question"]) == (WITH_EVIDENCE, run.plan().question)
    assert (row["verdict"], row["headline"]) == (verdict.verdict, verdict.headline)
    assert (row["brokers"], row["durability"], row["host"]) == ("kafka", "L4", "nowhere")
    assert json.loads(row["settings"])["c01"]["broker"]["log.flush.interval.messages"] == "9223372036854775807"
    assert row["delivery_violated"] is True
    assert row["executions_finished"] == 2
    (cell,) = rows_of(full, "cells", WITH_EVIDENCE)
    assert (cell["cell"], cell["version"], cell["driver_path"]) == ("c01", "4.3.1", "python")


def test_adding_again_changes_nothing_and_needs_no_spark(place: Place, filled: Bring) -> None:
    filled("tables")
    before = {path: path.read_bytes() for path in place.store.root.rglob("*") if path.is_file()}
    place.spark = None  # type: ignore[assignment]  # a use of it would raise
    again = place.add()
    assert (again.added, again.changed, len(again.same)) == ((), (), 2)
    assert {path: path.read_bytes() for path in place.store.root.rglob("*") if path.is_file()} == before


def test_a_changed_run_replaces_its_rows_and_leaves_the_others(place: Place, filled: Bring) -> None:
    first, _second = filled("tables")
    before = place.lake
    verdict = json.loads((first / "verdict.json").read_text())
    (first / "verdict.json").write_text(json.dumps({**verdict, "headline": "Something else."}))
    done = place.add()
    assert (done.added, done.changed, len(done.same)) == ((), (first.name,), 1)
    rows = {r["run"]: r["headline"] for r in place.lake.dataset("runs").to_table().to_pylist()}
    assert rows[first.name] == "Something else."
    assert len(rows) == 2
    assert place.lake.manifest.runs[_second.name] == before.manifest.runs[_second.name]
    # A lake that was opened before still reads what it was then.
    assert "Something else." not in before.dataset("runs").to_table()["headline"].to_pylist()


def test_a_rebuild_makes_the_same_rows_in_new_files(place: Place, filled: Bring) -> None:
    filled("tables")
    before = place.lake
    assert len(place.add(again=True, without_spark=0).changed) == 2
    for name in GOLD:
        old, new = (x.dataset(name).to_table().to_pylist() for x in (before, place.lake))
        for row in (*old, *new):
            row.pop("source", None)  # the place has moved
        assert sorted(map(str, old)) == sorted(map(str, new)), name
        assert not set(before.files(name)) & set(place.lake.files(name))


def test_a_run_whose_directory_is_gone_stays_in_the_lake(place: Place, filled: Bring) -> None:
    first, second = filled("tables")
    first.rename(place.root / "elsewhere")
    assert place.add().same == (second.name,)
    assert place.lake.runs() == (first.name, second.name)


def test_evidence_that_changed_after_the_analysis_is_a_mismatch_and_other_runs_are_added(
    place: Place, bring: Bring
) -> None:
    (path, other) = bring("evidence", "bbbbbb")
    spoil_rows(next((path / "evidence").glob("c01-r2/activity/*.parquet")))
    done = place.add()
    (refused,) = done.refused
    assert (refused.path, refused.why) == (path, Why.MISMATCH)
    assert "2 rows for quarantined_row, its tables have 1" in refused.text
    assert place.lake.runs() == done.added == (other.name,)


def test_rows_that_were_not_written_are_noticed_before_the_commit() -> None:
    with pytest.raises(MeasurementError, match="1 rows of gold/runs should be in the lake, 0 were written"):
        all_written({"gold/runs": [{"run": "a"}]}, {}, {"gold/runs": {"b": []}})


def test_a_lake_is_made_once_and_asked_for_by_name(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="there is no lake"):
        lakes.open(tmp_path / "lake")
    store = Place(tmp_path, None).store  # type: ignore[arg-type]
    init(store)
    with pytest.raises(UserError, match="is a lake already"):
        init(store)
    opened = lakes.open(tmp_path / "lake")
    assert opened.runs() == ()
    assert opened.dataset("delivery").to_table().num_rows == 0
    with pytest.raises(NotFoundError, match="delivry") as error:
        opened.dataset("delivry")
    assert error.value.hint == "did you mean 'delivery'?"
