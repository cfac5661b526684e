"""Runs that earlier versions recorded: this version finds the same figures in them and leaves their evidence alone.

Made by tools/record_run_fixture.py. What a version concludes from the figures (reasons, valid or not, which executions
count) may change; the figures may not.
"""

from __future__ import annotations

import hashlib
import json
import re
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from brokerlab.install.tar import unpack
from brokerlab.pipeline.analyze import analyze
from brokerlab.results.directory import RunDirectory
from brokerlab.results.reader import read_rows
from brokerlab.results.tables import RESULT_TABLES, RUN_SUMMARY, UNREADABLE_SEGMENT
from brokerlab.results.verdict import Verdict

FIXTURES = Path(__file__).parents[2] / "fixtures"
ARCHIVES = sorted(FIXTURES.glob("runs-*/*.tar.xz"))
KEYS = {
    "delivery": ("cell", "repeat", "group"),
    "lost_range": ("cell", "repeat", "group", "producer", "partition", "first", "last"),
    "latency_per_phase": ("cell", "repeat", "phase", "measure", "group"),
    "fault": ("cell", "repeat", "number"),
}
BUCKET = 1 / 128  # a bucket's width as a share of its value
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Analyzed:
    run: RunDirectory
    verdict: Verdict
    before: dict[str, str]  # files of the run before it was analyzed
    after: dict[str, str]
    expected: dict[str, Any]

    def figures(self, table: str) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self.expected["tables"][table]
        return rows


def _files(run: Path) -> dict[str, str]:
    """Every recorded file with its content's hash."""
    return {
        str(path.relative_to(run)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(run.rglob("*"))
        if path.is_file() and path.relative_to(run).parts[0] not in ("tables", "verdict.json")
    }


@pytest.fixture(scope="module", params=ARCHIVES, ids=lambda path: f"{path.parent.name}-{path.name.split('.')[0]}")
def analyzed(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    spark: SparkSession,  # noqa: ARG001 - analyze uses the running session
) -> Analyzed:
    archive: Path = request.param
    root = tmp_path_factory.mktemp("recorded")
    with tarfile.open(archive) as packed:
        unpack(packed, root)
    (run,) = root.iterdir()
    before = _files(run)
    verdict = analyze(run)
    expected = json.loads(archive.with_name(archive.name.replace(".tar.xz", ".json")).read_text())
    return Analyzed(RunDirectory(run), verdict, before, _files(run), expected)


def test_there_are_recorded_runs() -> None:
    assert {path.name for path in ARCHIVES} >= {"two-brokers.tar.xz", "every-fault.tar.xz", "killed-node.tar.xz"}


def test_evidence_is_byte_for_byte_what_it_was_and_nothing_is_added(analyzed: Analyzed) -> None:
    assert len(analyzed.before) > 10
    assert analyzed.after == analyzed.before
    assert read_rows(analyzed.run, UNREADABLE_SEGMENT) == []


@pytest.mark.parametrize("table", KEYS)
def test_every_row_has_the_figures_it_had(analyzed: Analyzed, table: str) -> None:
    expected = _by_key(table, analyzed.figures(table))
    found = _by_key(table, read_rows(analyzed.run, RESULT_TABLES[table]))
    if table == "latency_per_phase":  # later versions have more measures
        measures = {row["measure"] for row in expected.values()}
        found = {key: row for key, row in found.items() if row["measure"] in measures}
    assert found.keys() == expected.keys()
    for key, row in expected.items():
        differing = {c: (found[key][c], v) for c, v in _clipped(row).items() if not _same(found[key][c], v)}
        assert differing == {}, key


def _by_key(table: str, rows: list[dict[str, Any]]) -> dict[tuple[Any, ...], Row]:
    return {tuple(row[name] for name in KEYS[table]): row for row in rows}


def _clipped(row: Row) -> dict[str, Any]:
    """A quantile of 0.1.0 was the upper bound of its bucket, even above the largest sample."""
    return {c: min(v, row["max_ns"]) if re.fullmatch(r"p\d+_ns", c) else v for c, v in row.items()}


def _same(found: object, expected: object) -> bool:
    """Counts and names are equal; other numbers may differ by how they were added up."""
    return found == (pytest.approx(expected, rel=1e-9) if isinstance(expected, float) else expected)


def test_summaries_of_all_executions_are_what_they_were(analyzed: Analyzed) -> None:
    found = {(row["cell"], row["metric"]): row for row in read_rows(analyzed.run, RUN_SUMMARY)}
    summed = {cell for cell, _ in found}  # not a cell of which no execution counts: its rows are compared above
    for row in (row for row in analyzed.figures("run_summary") if row["cell"] in summed):
        mine = found[row["cell"], row["metric"]]
        set_aside = mine.get("set_aside", 0)
        assert mine["n"] + set_aside == row["n"], row["metric"]
        median = mine["median_with_set_aside"] if set_aside else mine["median"]
        # Above the largest sample there is nothing: 0.1.0 could be wrong there by a bucket.
        tolerance = row["median"] * BUCKET if row["metric"].endswith("_ns") else row["median"] * 1e-9
        assert row["median"] - tolerance <= median <= row["median"] * (1 + 1e-9), row["metric"]


def test_delivery_is_judged_as_it_was(analyzed: Analyzed) -> None:
    expected = analyzed.expected["verdict"]
    assert analyzed.verdict.delivery_violated is expected["delivery_violated"]
    assert analyzed.verdict.delivery == expected["delivery"]
