"""compare and export from a lake say what they say from run directories, and need no Spark."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result
from lake_runs import Place
from pyspark.sql import SparkSession

from brokerlab.cli.main import cli
from brokerlab.errors import NotFoundError
from brokerlab.lake.analyzed import LakeRuns
from brokerlab.lake.manifest import init
from brokerlab.results.compare.run_directories import RunDirectories
from brokerlab.results.tables import RESULT_TABLES

ONE, TWO = "20261117T110000-tables-bbbbbb", "20261117T120000-tables-cccccc"


def _said(*args: str, code: int = 0) -> Result:
    result = CliRunner().invoke(cli, list(args))
    assert result.exit_code == code, result.output
    return result


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession, sources: dict[str, Path]) -> Place:
    """A lake of four runs, one of them recorded by 0.1.0, one tagged. No test changes it."""
    place = Place(tmp_path_factory.mktemp("full"), spark)
    place.runs.mkdir()
    init(place.store)
    for path in sources.values():
        shutil.copytree(path, place.runs / path.name)
    plan = place.runs / TWO / "plan.json"
    plan.write_text(json.dumps({**json.loads(plan.read_text()), "tag": "after"}))
    assert len(place.add().added) == len(sources)
    return place


def test_every_run_is_measured_as_in_its_directory(full: Place) -> None:
    there, here = RunDirectories(full.runs).every().runs, LakeRuns(full.lake).every().runs
    assert len(there) == len(here) == len(full.lake.runs())
    assert sorted(here, key=lambda r: r.name) == sorted(there, key=lambda r: r.name)


def test_every_table_is_read_as_in_the_run_directory(full: Place) -> None:
    directories, lake = RunDirectories(full.runs), LakeRuns(full.lake)
    directories.every()
    for run in full.lake.runs():
        for table in RESULT_TABLES.values():
            theirs = [{**row, "run": run} if "run" in row else row for row in directories.table(run, table).to_pylist()]
            mine = lake.table(run, table).to_pylist()
            assert sorted(map(repr, mine)) == sorted(map(repr, theirs)), (run, table.name)


def test_compare_from_the_lake_equals_compare_from_directories(full: Place, tmp_path: Path) -> None:
    address = str(full.store.root)
    for names in ((ONE, TWO), (ONE, "after"), (f"{ONE}:c01", "last:c01")):
        theirs = _said("compare", *names, "--json", "--runs", str(full.runs)).stdout
        if names[1] != "last:c01":
            assert _said("compare", *names, "--json", "--lake", address).stdout == theirs
    page = tmp_path / "page.html"
    _said("compare", ONE, TWO, "--lake", address, "--html", str(page))
    assert 'data-chart="spectrum"' in page.read_text()


def test_history_from_the_lake_equals_history_from_directories(full: Place) -> None:
    theirs = json.loads(_said("history", "--json", "--runs", str(full.runs)).stdout)["series"]
    mine = json.loads(_said("history", "--json", "--lake", str(full.store.root)).stdout)["series"]
    assert len(mine) > 2
    assert sorted(mine, key=repr) == sorted(theirs, key=repr)


@pytest.mark.parametrize("form", ["json", "csv", "markdown", "junit", "openmetrics"])
def test_export_of_a_run_equals_that_of_its_directory(full: Place, form: str) -> None:
    theirs = _said("export", ONE, form, "--runs", str(full.runs)).stdout
    assert _said("export", ONE, form, "--lake", str(full.store.root)).stdout == theirs


def test_export_of_a_whole_lake_has_all_runs(full: Place, tmp_path: Path) -> None:
    address, runs = str(full.store.root), set(full.lake.runs())
    assert {r["run"] for r in json.loads(_said("export", "json", "--lake", address).stdout)["runs"]} == runs
    suites = ElementTree.fromstring(_said("export", "junit", "--lake", address).stdout.split("\n", 1)[1])
    assert len(suites.findall("testsuite")) == len(runs)
    metrics = _said("export", "openmetrics", "--lake", address).stdout
    assert metrics.count("# TYPE brokerlab_sent_per_second gauge") == 1
    assert all(f'run="{run}"' in metrics for run in runs)
    _said("export", "parquet", "--lake", address, "--table", "delivery", "--out", str(tmp_path / "out"))
    found = pq.ParquetFile(tmp_path / "out" / "lake.delivery.parquet").read()
    assert set(found["run"].to_pylist()) == runs
    assert len(found) == len(full.lake.table("delivery"))


def test_names_that_the_lake_does_not_have_get_the_nearest(full: Place) -> None:
    address = str(full.store.root)
    assert "did you mean 'after'?" in _said("compare", ONE, "aftr", "--lake", address, code=2).stderr
    assert "matches 2 runs" in _said("export", "tables", "csv", "--lake", address, code=2).stderr
    assert "is called 'nothing'" in _said("export", "nothing", "csv", "--lake", address, code=2).stderr


def test_a_lake_without_documents_says_what_to_do(full: Place) -> None:
    lake = full.lake
    for run, entry in lake.manifest.runs.items():
        without = {place: of for place, of in entry.tables.items() if place != "gold/documents"}
        lake.manifest.runs[run] = entry.model_copy(update={"tables": without})
    with pytest.raises(NotFoundError) as error:
        LakeRuns(lake).every()
    assert "brokerlab lake rebuild" in (error.value.hint or "")


def test_neither_spark_nor_pandas_are_imported(full: Place) -> None:
    code = (
        "import sys; from click.testing import CliRunner; from brokerlab.cli.main import cli;"
        f"r = CliRunner().invoke(cli, ['compare', {ONE!r}, {TWO!r}, '--lake', {str(full.store.root)!r}]);"
        "assert r.exit_code == 0, r.output;"
        "print(sorted({m.split('.')[0] for m in sys.modules} & {'pyspark', 'py4j', 'pandas'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.returncode) == ("[]", 0), done.stderr
