"""Runs for the lake's tests: one with evidence that breaks rules, two with tables alone, one that 0.1.0 recorded."""

from __future__ import annotations

import shutil
import tarfile
from collections.abc import Callable
from functools import cache, partial
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


def new_place(root: Path, spark: SparkSession) -> Place:
    made = Place(root, spark)
    made.runs.mkdir(parents=True)
    init(made.store)
    return made


def copied(sources: dict[str, Path], place: Place, *wanted: str) -> list[Path]:
    """Copies runs into the place, by part of their names."""
    chosen = [path for name, path in sources.items() if any(w in name for w in wanted)]
    return [Path(shutil.copytree(path, place.runs / path.name)) for path in chosen]


@pytest.fixture
def place(tmp_path: Path, spark: SparkSession) -> Place:
    return new_place(tmp_path, spark)


@pytest.fixture
def bring(place: Place, sources: dict[str, Path]) -> Callable[..., list[Path]]:
    return partial(copied, sources, place)


@pytest.fixture(scope="session")
def full(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession, sources: dict[str, Path]) -> Place:
    """A lake with all runs, to be read only."""
    made = new_place(tmp_path_factory.mktemp("full") / "place", spark)
    copied(sources, made, "")
    made.added = made.add(without_spark=0).added
    return made


@pytest.fixture(scope="session")
def lakes(
    tmp_path_factory: pytest.TempPathFactory, spark: SparkSession, sources: dict[str, Path]
) -> Callable[..., Place]:
    """Lakes that have runs already, made once for each choice. Their place has moved since: a copy of a run is then the
    run itself, and not another one with the same id."""

    @cache
    def with_runs(*wanted: str) -> Place:
        root = tmp_path_factory.mktemp("lakes")
        made = new_place(root / "made", spark)
        copied(sources, made, *wanted)
        made.add()
        return Place(made.root.rename(root / "moved"), spark)

    return with_runs


@pytest.fixture
def filled(place: Place, lakes: Callable[..., Place]) -> Callable[..., list[Path]]:
    """Copies runs into the place, and a lake that has them."""

    def fill(*wanted: str) -> list[Path]:
        template = lakes(*wanted)
        for of_template, of_place in ((template.store.root, place.store.root), (template.runs, place.runs)):
            shutil.copytree(of_template, of_place, dirs_exist_ok=True)
        return sorted(place.runs.iterdir())

    return fill
