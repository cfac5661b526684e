"""A lake on a real HDFS: a NameNode and a DataNode as processes on loopback."""

from __future__ import annotations

import json
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pyspark
import pytest
from lake_runs import Place, as_rows

from brokerlab import lab
from brokerlab import lake as lakes
from brokerlab.install.maven import install_artifacts, read_lock
from brokerlab.lake.check import check
from brokerlab.lake.follow import follow
from brokerlab.lake.hadoop import HadoopStore
from brokerlab.lake.ingest import add
from brokerlab.lake.manifest import commit, init, present
from brokerlab.lake.query import query
from brokerlab.lake.survey import runs_below
from brokerlab.pipeline.session import java_program
from brokerlab.processes.ports import HeldPorts
from brokerlab.results.directory import RunDirectory

pytestmark = [pytest.mark.slow]
LOCK = Path(__file__).parents[2] / "fixtures" / "hdfs.lock"
PATIENCE_S = 180.0
Bring = Callable[..., list[Path]]


class Hdfs:
    """One NameNode and one DataNode, with their files under `root`."""

    def __init__(self, root: Path) -> None:
        self._root = root
        artifacts = read_lock(LOCK)
        install_artifacts(artifacts, lambda *_: None)
        self._ports = HeldPorts(2)
        self._rpc, self._http = self._ports.numbers
        self.uri = f"hdfs://127.0.0.1:{self._rpc}/lake"
        (root / "conf").mkdir(parents=True)
        _write_settings(root / "conf" / "core-site.xml", {"fs.defaultFS": f"hdfs://127.0.0.1:{self._rpc}"})
        _write_settings(root / "conf" / "hdfs-site.xml", self._settings())
        jars = Path(pyspark.__file__).parent / "jars"
        java = java_program(None)
        assert java is not None
        classes = ":".join([str(root / "conf"), *(str(a.path) for a in artifacts), f"{jars}/*"])
        self._java = [str(java), "-XX:TieredStopAtLevel=1", "-Xmx256m", "-cp", classes]
        self._processes: list[subprocess.Popen[bytes]] = []

    def _settings(self) -> dict[str, str]:
        return {
            "dfs.namenode.name.dir": f"file://{self._root}/name", "dfs.datanode.data.dir": f"file://{self._root}/data",
            "dfs.namenode.http-address": f"127.0.0.1:{self._http}", "dfs.replication": "1",
            "dfs.datanode.address": "127.0.0.1:0", "dfs.datanode.http.address": "127.0.0.1:0",
            "dfs.datanode.ipc.address": "127.0.0.1:0", "dfs.permissions.enabled": "false",
            "dfs.namenode.datanode.registration.ip-hostname-check": "false",
        }  # fmt: skip

    def start(self) -> None:
        name_node = "org.apache.hadoop.hdfs.server.namenode.NameNode"
        with (self._root / "hdfs.log").open("ab") as log:
            subprocess.run([*self._java, name_node, "-format", "-nonInteractive"], stdout=log, stderr=log, check=True)
            for what in (name_node, "org.apache.hadoop.hdfs.server.datanode.DataNode"):
                self._processes.append(subprocess.Popen([*self._java, what], stdout=log, stderr=log))
        deadline = time.monotonic() + PATIENCE_S
        while not self._is_ready():
            assert time.monotonic() < deadline, (self._root / "hdfs.log").read_text()[-2000:]
            assert all(p.poll() is None for p in self._processes), (self._root / "hdfs.log").read_text()[-2000:]
            time.sleep(0.2)

    def _is_ready(self) -> bool:
        """A DataNode has registered, and the NameNode takes writes."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._http}/jmx?qry=Hadoop:*", timeout=5) as answer:
                beans = {bean["name"]: bean for bean in json.load(answer)["beans"]}
        except (OSError, ValueError):
            return False
        state = beans.get("Hadoop:service=NameNode,name=FSNamesystemState", {})
        info = beans.get("Hadoop:service=NameNode,name=NameNodeInfo", {})
        return state.get("NumLiveDataNodes") == 1 and info.get("Safemode") == ""

    def stop(self) -> None:
        for process in self._processes:
            process.kill()
            process.wait()


def _write_settings(path: Path, settings: dict[str, str]) -> None:
    rows = (f"<property><name>{n}</name><value>{v}</value></property>" for n, v in settings.items())
    path.write_text(f"<configuration>{''.join(rows)}</configuration>\n")


@pytest.fixture(scope="module")
def hdfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hdfs]:
    made = Hdfs(tmp_path_factory.mktemp("hdfs"))
    try:
        made.start()
        yield made
    finally:
        made.stop()


@pytest.fixture
def remote(hdfs: Hdfs, tmp_path: Path, place: Place) -> HadoopStore:
    return HadoopStore(f"{hdfs.uri}-{tmp_path.name}", place.spark)


def test_a_lake_on_hdfs_holds_the_same_rows_and_answers_the_same(
    remote: HadoopStore, place: Place, bring: Bring
) -> None:
    bring("evidence", "bbbbbb", "cccccc")
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
    base, candidate = (run for run in place.lake.runs() if "tables" in run)
    assert lab.compare(base, [candidate], lake=remote.uri) == lab.compare(base, [candidate], lake=place.store.uri)


def test_of_two_writers_on_hdfs_the_slower_commits_on_top(remote: HadoopStore) -> None:
    from test_lake_manifest import entry

    init(remote)
    calls = []

    def change(manifest):  # type: ignore[no-untyped-def]
        if not calls:  # as it was before the other's commit
            calls.append(1)
            commit(remote, lambda m: {**m.runs, "b": entry("b")})
        return {**manifest.runs, "c": entry("c")}

    commit(remote, change)
    assert sorted(present(remote).runs) == ["b", "c"]
    with pytest.raises(FileExistsError):
        remote.create("lake.json", b"{}")


def test_a_run_is_followed_into_a_lake_on_hdfs(remote: HadoopStore, place: Place, bring: Bring) -> None:
    (path,) = bring("evidence")
    init(remote)
    follow(RunDirectory(path), remote, place.spark, once=True)
    there = lakes.open(remote.uri, place.spark)
    assert not check(there).problems
    place.add()
    assert as_rows(there.frame("delivery", place.spark)) == as_rows(place.lake.frame("delivery", place.spark))
