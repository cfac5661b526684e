"""Tables of an execution while it goes, against the samples it was made of and against what the runner makes at its end."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from brokerlab.dashboard.live_tables import LiveTables
from brokerlab.dashboard.segments import SETTLED_NS, NewSegments
from brokerlab.dashboard.so_far import _tables, counts
from brokerlab.dashboard.versions import KEPT_VERSIONS, VersionedRows
from brokerlab.evidence.tables import ACTIVITY
from brokerlab.model.execution_id import ExecutionId
from brokerlab.model.histogram import BAND_BITS, SUB_BUCKET_BITS, bucket_of
from brokerlab.results.at_once import tables_at_once
from synthetic import Faults, SyntheticRun, make_plan, write_run

EXECUTION = ExecutionId(cell="c01", repeat=1)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> SyntheticRun:
    path = tmp_path_factory.mktemp("runs") / "20270115T0800-live-ab12"
    plan = make_plan(path.name, cells=1, repeats=1)
    return write_run(path, plan=plan, faults={("c01", 1): Faults(corrupted=3, unexpected=2)})


@pytest.fixture
def live(run: SyntheticRun) -> LiveTables:
    found = LiveTables(run.directory, EXECUTION)
    assert found.poll()
    return found


def test_the_heat_map_has_every_sample_in_its_band(run: SyntheticRun, live: LiveTables) -> None:
    for measure in ("publish_latency", "end_to_end_latency", "send_delay"):
        samples = np.concatenate([run.truth["c01", 1].latencies_ns[measure, phase] for phase in ("warm_up", "measure")])
        bands = Counter((bucket_of(samples) >> (SUB_BUCKET_BITS - BAND_BITS)).tolist())
        drawn: Counter[int] = Counter()
        for (of, _, _), group in live.rows("latency_heat").items():
            for band, low, high, count in group.T.tolist() if of == measure else ():
                drawn[band] += count
                assert low <= high
        assert drawn == bands, measure


def test_figures_are_those_that_the_runner_makes_when_the_execution_has_ended(
    run: SyntheticRun, live: LiveTables
) -> None:
    oracle, mine = tables_at_once(run.directory, EXECUTION), _tables(live, EXECUTION)

    def by(rows: list[dict[str, object]], *keys: str) -> dict[object, dict[str, object]]:
        return {tuple(r[k] for k in keys): r for r in rows}

    phases, found = (
        by(oracle["latency_per_phase"], "measure", "group"),
        by(list(map(dict, mine["latency_per_phase"])), "measure", "group"),
    )
    assert found.keys() == phases.keys()
    for key, row in phases.items():
        assert {k: found[key][k] for k in ("count", "p50_ns", "p99_ns", "p999_ns", "negative")} == {
            k: row[k] for k in ("count", "p50_ns", "p99_ns", "p999_ns", "negative")
        }
    agents = by(list(map(dict, mine["agent_health"])), "agent")
    for key, row in by(oracle["agent_health"], "agent").items():
        assert {k: agents[key][k] for k in ("cpu_cores_mean", "behind_max", "longest_pause_ns")} == {
            k: row[k] for k in ("cpu_cores_mean", "behind_max", "longest_pause_ns")
        }
    seconds = {r["second_unix_s"]: r["p99_ns"] for r in mine["latency_per_second"]}
    assert seconds == {r["second_unix_s"]: r["p99_ns"] for r in oracle["latency_per_second"]}


def test_readings_are_means_and_counters_become_rates(live: LiveTables) -> None:
    readings = live.rows("reading_per_second")
    written = [
        value
        for (subject, metric, _), (value,) in readings.items()
        if (subject, metric) == ("process:broker-1", "write_bytes_per_s")
    ]
    assert written == pytest.approx([7e5] * 10)
    busy = sorted(
        value for (subject, metric, _), (value,) in readings.items() if (subject, metric) == ("host", "cpu_busy_cores")
    )
    assert busy[0] == pytest.approx(0.8)
    assert not any(metric.endswith("_total") for _, metric, _ in readings)


def test_what_is_counted_are_the_sums_of_all_agents(live: LiveTables) -> None:
    sums = counts(live)
    assert sums["sent"] == sums["acknowledged"] == sums["received"] == 10 * 1000
    assert (sums["corrupted"], sums["unexpected"]) == (3, 2)


def test_a_live_line_is_shown_at_once_and_replaced_by_the_evidence(run: SyntheticRun, tmp_path: Path) -> None:
    shutil.copytree(run.directory.path, copied := tmp_path / run.directory.name)
    directory = type(run.directory)(copied)
    evidence, aside = directory.evidence(EXECUTION), tmp_path / "aside"
    evidence.rename(aside)
    line = {"agent": "producer-1", "role": "producer", "group": "", "second": 1_700_000_000, "phase": "measure", "sent": 123,
            "acknowledged": 120, "received": 0, "p99_ns": {}, "cpu_cores": 0.5}  # fmt: skip
    file = directory.live_lines(EXECUTION)
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(line) + "\n" + '{"agent": "cut off')
    live = LiveTables(directory, EXECUTION)
    live.poll()
    assert live.rows("rate_per_second") == {("producer", "", 1_700_000_000): ("measure", 123, 120, 0)}
    first = next(iter(sorted(second for _, second in _closed(aside, directory))))
    with file.open("a") as f:
        f.write('"}\n' + json.dumps({**line, "second": first, "sent": 1}) + "\n")
    live.poll()
    assert live.rows("rate_per_second")["producer", "", first][1] == 1
    aside.rename(evidence)
    live.poll()
    assert live.rows("rate_per_second")["producer", "", first][1] == 1000
    assert counts(live)["sent"] == 10 * 1000 + 123
    rows = (*live.agents.values(), *live.ahead.values())
    assert live.totals == {name: sum(row[name] for row in rows) for name in live.totals}


def test_a_second_that_is_said_twice_is_counted_once(run: SyntheticRun, tmp_path: Path) -> None:
    shutil.copytree(run.directory.path, copied := tmp_path / run.directory.name)
    directory = type(run.directory)(copied)
    directory.evidence(EXECUTION).rename(tmp_path / "aside")
    line = {
        "agent": "producer-1",
        "role": "producer",
        "group": "",
        "second": 1_700_000_000,
        "phase": "measure",
        "sent": 5,
    }
    file = directory.live_lines(EXECUTION)
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(line) + "\n" + json.dumps({**line, "sent": 7}) + "\n")
    live = LiveTables(directory, EXECUTION)
    live.poll()
    assert counts(live)["sent"] == 7


def test_a_segment_that_came_within_the_tick_of_the_last_look_is_seen(run: SyntheticRun, tmp_path: Path) -> None:
    source = run.directory.evidence(EXECUTION) / ACTIVITY.name
    first, second = sorted(source.glob("*.parquet"))[:2]
    (folder := tmp_path / ACTIVITY.name).mkdir()
    shutil.copy(first, folder)
    new = NewSegments(tmp_path, ACTIVITY, ("agent",))
    changed = time.time_ns()
    os.utime(folder, ns=(changed, changed))
    assert len(list(new.read())) == 1
    shutil.copy(second, folder)
    os.utime(folder, ns=(changed, changed))  # as if the clock had not ticked between the two
    assert len(list(new.read())) == 1
    assert list(new.read()) == []


def test_a_folder_that_has_not_changed_for_long_is_not_looked_through(run: SyntheticRun, tmp_path: Path) -> None:
    source = run.directory.evidence(EXECUTION) / ACTIVITY.name
    first, second = sorted(source.glob("*.parquet"))[:2]
    (folder := tmp_path / ACTIVITY.name).mkdir()
    shutil.copy(first, folder)
    new = NewSegments(tmp_path, ACTIVITY, ("agent",))
    long_ago = time.time_ns() - 2 * SETTLED_NS
    os.utime(folder, ns=(long_ago, long_ago))
    assert len(list(new.read())) == 1
    shutil.copy(second, folder)
    os.utime(folder, ns=(long_ago, long_ago))
    assert list(new.read()) == []
    os.utime(folder)
    assert len(list(new.read())) == 1


def _closed(evidence: Path, directory: object) -> list[tuple[str, int]]:
    import pyarrow.parquet as pq

    del directory
    return [
        (row["agent"], row["second_unix_s"])
        for file in evidence.glob("activity/*.parquet")
        for row in pq.read_table(file, columns=["agent", "second_unix_s"]).to_pylist()
    ]


def test_a_damaged_segment_is_counted_and_the_rest_is_shown(run: SyntheticRun, tmp_path: Path) -> None:
    shutil.copytree(run.directory.path, copied := tmp_path / run.directory.name)
    directory = type(run.directory)(copied)
    (directory.evidence(EXECUTION) / "interval" / "producer-1-000009.parquet").write_bytes(b"PAR1 not at all PAR1")
    (directory.evidence(EXECUTION) / "interval" / ".producer-1-000010.parquet.tmp").write_bytes(b"being written")
    live = LiveTables(directory, EXECUTION)
    live.poll()
    assert live.unreadable == 1
    assert live.rows("latency_heat")


def _plain(table: dict[str, object]) -> list[tuple[object, ...]]:
    columns = []
    for column in table["columns"]:  # type: ignore[attr-defined]
        runs = column.get("runs")
        columns.append(
            column["values"]
            if runs is None
            else [v for v, n in zip(runs[::2], runs[1::2], strict=True) for _ in range(n)]
        )
    return list(zip(*columns, strict=True))


def test_a_reader_gets_the_rows_that_changed_since_it_looked() -> None:
    rows = VersionedRows({"t": (("k",), ("v",))})
    with rows.one_version():
        rows.put("t", (1,), ("a",))
        rows.put("t", (2,), ("b",))
    with rows.one_version():
        rows.put("t", (2,), ("b",))  # the same as before
        rows.put("t", (3,), ("c",))
    assert _plain(rows.changes(1)["t"]) == [(3, "c")]  # type: ignore[index]
    assert _plain(rows.changes(0)["t"]) == [(1, "a"), (2, "b"), (3, "c")]  # type: ignore[index]
    assert rows.changes(2) == {}
    assert _plain(json.loads(rows.whole())["t"]) == [(1, "a"), (2, "b"), (3, "c")]


def test_a_reader_that_was_away_too_long_must_take_everything_again() -> None:
    rows = VersionedRows({"t": (("k",), ("v",))})
    for i in range(KEPT_VERSIONS + 5):
        with rows.one_version():
            rows.put("t", (i,), (i,))
    assert rows.changes(0) is None
    assert rows.changes(rows.version - 1) is not None


def test_rows_put_as_a_group_are_sent_like_single_ones() -> None:
    declared = {"t": (("name", "k"), ("v", "w"))}
    groups, single = VersionedRows(declared, in_groups=("t",)), VersionedRows(declared)
    put = {("b",): [(1, 5, 7)], ("a",): [(1, 2, 7), (3, 4, 7), (9, 9, 7)]}
    with groups.one_version(), single.one_version():
        for (name,), rows in put.items():
            groups.put_group("t", (name,), np.array(rows).T)
            for k, v, w in rows:
                single.put("t", (name, k), (v, w))
    assert _plain(json.loads(groups.whole())["t"]) == _plain(json.loads(single.whole())["t"])
    with groups.one_version():
        groups.put_group("t", ("b",), np.array([(1, 6, 7), (2, 0, 7)]).T)
    assert _plain(groups.changes(1)["t"]) == [("b", 1, 6, 7), ("b", 2, 0, 7)]  # type: ignore[index]


def test_tables_are_made_into_text_once_for_all_readers_of_a_version(live: LiveTables) -> None:
    assert live.whole() is live.whole()
    before = live.whole()
    with live.one_version():
        live.put("agent_health", ("another",), ("producer",))
    assert live.whole() != before


def test_a_table_without_rows_has_its_columns() -> None:
    rows = VersionedRows({"t": (("k",), ("v",)), "g": (("name", "k"), ("v",))}, in_groups=("g",))
    sent = json.loads(rows.whole())
    assert [c["name"] for c in sent["g"]["columns"]] == ["name", "k", "v"]
    assert sent["t"]["rows"] == sent["g"]["rows"] == 0
