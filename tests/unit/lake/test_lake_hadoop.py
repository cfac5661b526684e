"""A lake on another file system than `file:`: everything goes through Hadoop's interface in Spark's JVM."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from lake_runs import Place, as_rows
from pyspark.sql import SparkSession

from brokerlab import lab
from brokerlab import lake as lakes
from brokerlab.cli.main import cli
from brokerlab.errors import MachineError, NotFoundError, UserError
from brokerlab.lake.check import check
from brokerlab.lake.hadoop import HadoopStore
from brokerlab.lake.ingest import add
from brokerlab.lake.location import store_at
from brokerlab.lake.manifest import commit, init, init_where_missing, present
from brokerlab.lake.query import query
from brokerlab.lake.store import LocalStore
from brokerlab.lake.survey import runs_below

Bring = Callable[..., list[Path]]


@pytest.fixture
def remote(tmp_path: Path, spark: SparkSession) -> HadoopStore:
    """A lake under viewfs://, whose mount table leads to a folder: another scheme that is there without a server."""
    folder = tmp_path / "far-away"
    folder.mkdir()
    configuration = spark._jsc.hadoopConfiguration()  # type: ignore[attr-defined]
    table = f"t{tmp_path.name.replace('_', '').replace('-', '')}"
    configuration.set(f"fs.viewfs.mounttable.{table}.link./data", folder.as_uri())
    return HadoopStore(f"viewfs://{table}/data/lake", spark)


def test_a_lake_elsewhere_holds_the_same_rows(remote: HadoopStore, place: Place, bring: Bring) -> None:
    bring("evidence", "bbbbbb")
    place.add()
    init(remote)
    done = add(remote, runs_below(place.runs), place.session)
    assert sorted(done.added) == sorted(place.lake.runs())
    there = lakes.open(remote.uri, place.spark)
    assert not check(there).problems
    assert check(there).rows == check(place.lake).rows
    for name in ("delivery", "run_summary", "runs", "evidence_file", "quarantined_row"):
        assert as_rows(there.frame(name, place.spark)) == as_rows(place.lake.frame(name, place.spark)), name
    sql = "SELECT run, count(*) AS n FROM delivery GROUP BY run ORDER BY run"
    assert query(there, sql, place.session).to_pylist() == query(place.lake, sql, place.session).to_pylist()
    assert add(remote, runs_below(place.runs), place.session).same == tuple(sorted(place.lake.runs()))
    with pytest.raises(UserError, match="pyarrow reads lakes on file: only"):
        there.dataset("delivery")
    for words in (["export", "csv"], ["export", "bbbbbb", "json"], ["history", "--json"]):
        here, far = (CliRunner().invoke(cli, [*words, "--lake", uri]) for uri in (place.store.uri, remote.uri))
        assert (far.exit_code, far.stdout) == (0, here.stdout), words


def test_a_lake_whose_making_was_cut_off_is_made_by_the_next_process(remote: HadoopStore, tmp_path: Path) -> None:
    beside = LocalStore(tmp_path / "beside")
    init(beside)
    remote.create("manifests/00000000.json", beside.read("manifests/00000000.json"))
    init(remote)
    assert present(remote) == present(beside)
    with pytest.raises(UserError, match="is a lake already"):
        init(remote)
    init_where_missing(remote)


def test_the_few_operations_do_what_is_promised(remote: HadoopStore) -> None:
    assert remote.names("manifests") == []
    assert remote.files("gold") == {}
    with pytest.raises(FileNotFoundError):
        remote.read("lake.json")
    remote.create("a/b.json", b"first \xff\x00")
    assert remote.read("a/b.json") == b"first \xff\x00"
    with pytest.raises(FileExistsError):
        remote.create("a/b.json", b"second")
    assert remote.read("a/b.json") == b"first \xff\x00"
    assert remote.names("a") == ["b.json"], "something temporary was left"
    remote.create("a/c.parquet", b"no Parquet")
    assert remote.files("a") == {"a/c.parquet": 10}
    with pytest.raises(OSError, match="not a Parquet file"):
        remote.rows("a/c.parquet")
    remote.delete("a")
    remote.delete("a")
    assert remote.names("") == []


def test_a_writer_that_was_slower_commits_on_top_of_the_other(remote: HadoopStore) -> None:
    from test_lake_manifest import entry

    init(remote)
    first = present(remote)
    commit(remote, lambda m: {**m.runs, "a": entry("a")})
    calls = []

    def change(manifest):  # type: ignore[no-untyped-def]
        if not calls:  # as it was before the other's commit
            calls.append(1)
            commit(remote, lambda m: {**m.runs, "b": entry("b")})
        return {**manifest.runs, "c": entry("c")}

    commit(remote, change)
    assert first.number == 0
    assert sorted(present(remote).runs) == ["a", "b", "c"]


def test_an_unknown_file_system_is_named(spark: SparkSession) -> None:  # noqa: ARG001 - lab uses the running session
    with pytest.raises(MachineError, match="gopher") as caught, lab.lake_store("gopher://somewhere/lake") as store:
        present(store)
    assert "gopher://somewhere/lake cannot be used" in caught.value.message


def test_an_unreachable_server_is_named(spark: SparkSession) -> None:
    spark._jsc.hadoopConfiguration().set("ipc.client.connect.max.retries", "0")  # type: ignore[attr-defined]
    with pytest.raises(MachineError, match=r"hdfs://127.0.0.1:9/lake cannot be used"), lab.lake_store("hdfs://127.0.0.1:9/lake") as store:  # fmt: skip
        present(store)


def test_without_a_session_the_error_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is reached through Spark"):
        lakes.open("hdfs://somewhere/lake")
    with pytest.raises(NotFoundError):
        lakes.open(f"file://{tmp_path}/lake")
    assert store_at(f"file:{tmp_path}/lake").uri == store_at(tmp_path / "lake").uri
