"""Compacted files change how long an analysis takes, and nothing that it says."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from brokerlab.evidence import compacted
from brokerlab.evidence.identity import Identity
from brokerlab.pipeline.analyze import analyze
from brokerlab.pipeline.bronze import evidence_of
from brokerlab.results.directory import RunDirectory
from synthetic import write_run


def compact(run: Path) -> None:
    """As writers do when they end."""
    for folder in sorted(p for root in ("evidence", "probes") for p in (run / root).glob("*/*") if p.is_dir()):
        keepers: dict[str, compacted.Keeper] = {}
        for path in sorted(folder.glob("*.parquet")):
            rows = pq.read_table(path)
            identity = Identity.of(rows.schema)
            assert identity is not None
            keeper = keepers.setdefault(identity.writer, compacted.Keeper(folder, identity.writer))
            keeper.keep(identity, rows, path.stat().st_size)
        for keeper in keepers.values():
            keeper.write()


def tables(run: RunDirectory) -> dict[str, list[dict[str, object]]]:
    return {path.parent.name: pq.read_table(path).to_pylist() for path in sorted(run.tables.glob("*/*.parquet"))}


def test_tables_and_verdict_are_the_same_with_and_without_compacted_files(
    tmp_path: Path,
    spark: SparkSession,  # noqa: ARG001 - analyze uses the running session
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = write_run(tmp_path / "synthetic", seed=11).directory
    before = analyze(run.path), tables(run)
    monkeypatch.setattr(compacted, "FEWEST", 2)
    compact(run.path)
    covered = [s for of in evidence_of(run, footers_only=True).segments.values() for s in of if s.compacted is not None]
    assert covered, "nothing was compacted"
    assert (analyze(run.path), tables(run)) == before
