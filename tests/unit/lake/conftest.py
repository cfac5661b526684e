"""Runs for the lake's tests: one with evidence that breaks rules, two with tables alone, one that 0.1.0 recorded."""

from __future__ import annotations

import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from lake_runs import SMALL, WITH_EVIDENCE, Place, as_first_version, spoil_rows
from pyspark.sql import SparkSession

from brokerlab.install.tar import unpack
from brokerlab.lake.manifest import init
from brokerlab.pipeline.analyze import analyze
from synthetic import Faults, make_plan, write_run
from synthetic_tables import write_results

FIXTURE = Path(__file__).parents[2] / "fixtures" / "runs-0.1.0" / "two-brokers.tar.xz"


@pytest.fixture(scope="session")
def sources(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> dict[str, Path]:  # noqa: ARG001
    """Analyzed runs by name; tests take copies of them."""
    root = tmp_path_factory.mktemp("sources")
    plan = make_plan(WITH_EVIDENCE, cells=1, repeats=2, rate_per_s=100.0, warm_up_s=1.0, measure_s=5.0)
    path = root / WITH_EVIDENCE
    write_run(path, plan=plan, faults={("c01", 1): Faults(lost=3), ("c01", 2): Faults(duplicated=2)})
    spoil_rows(next((path / "evidence").glob("c01-r1/activity/*.parquet")))
    next((path / "evidence").glob("c01-r2/interval/*.parquet")).with_name("cut-off-1.parquet").write_bytes(b"PAR1")
    analyze(path)
    found = {WITH_EVIDENCE: path}
    for name in ("20261117T110000-tables-bbbbbb", "20261117T120000-tables-cccccc"):
        found[name] = write_results(root / name, SMALL, seed=len(found)).path
    with tarfile.open(FIXTURE) as packed:
        unpack(packed, root / "old")
    (old,) = (root / "old").iterdir()
    analyze(old)
    as_first_version(old)
    return {**found, old.name: old}


@pytest.fixture
def place(tmp_path: Path, spark: SparkSession) -> Place:
    made = Place(tmp_path, spark)
    made.runs.mkdir()
    init(made.store)
    return made


@pytest.fixture
def bring(place: Place, sources: dict[str, Path]) -> Callable[..., list[Path]]:
    """Copies runs into the place, by part of their names."""

    def copied(*wanted: str) -> list[Path]:
        chosen = [path for name, path in sources.items() if any(w in name for w in wanted)]
        return [Path(shutil.copytree(path, place.runs / path.name)) for path in chosen]

    return copied
