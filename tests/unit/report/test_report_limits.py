"""The likely limit follows from the numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from brokerlab.report.limits import likely_limit, uses
from brokerlab.report.source import Source, TableData, read_source
from synthetic_tables import Story, write_results

SHORT = Story(repeats=2, measure_s=6, warm_up_s=1, rate_per_s=300)


def source(tmp_path: Path) -> Source:
    return read_source(write_results(tmp_path / "run", SHORT))


def changed(table: TableData, column: str, value: Any, **where: object) -> None:
    """Overwrite `column` in the rows that match."""
    for i in range(len(table)):
        if all(table.columns[k][i] == v for k, v in where.items()):
            table.columns[column][i] = value


def test_with_room_everywhere_nothing_visible_was_at_its_limit(tmp_path: Path) -> None:
    sentence = likely_limit(source(tmp_path), "c02")
    assert sentence.startswith("Nothing visible was at its limit: the schedule set the rate.")
    assert "host CPU" in sentence


def test_a_busy_agent_is_named(tmp_path: Path) -> None:
    run = source(tmp_path)
    changed(run.table("agent_health"), "cpu_cores_mean", 0.97, cell="c02", agent="producer-1", repeat=2)
    assert likely_limit(run, "c02") == "At its limit: agent producer-1 (0.97 cores of the one it can use)."


def test_a_busy_disk_and_a_busy_host_are_both_named(tmp_path: Path) -> None:
    run = source(tmp_path)
    readings = run.table("reading_per_second")
    changed(readings, "value", 980.0, cell="c02", metric="disk_busy_ms_per_s")
    changed(readings, "value", 1.95, cell="c02", metric="cpu_busy_cores")
    assert [u.resource for u in uses(run, "c02") if u.at_limit] == ["host CPU", "disk"]
    assert [u.resource for u in uses(run, "c01") if u.at_limit] == []


def test_consumers_that_fall_behind_are_named_with_their_backlog(tmp_path: Path) -> None:
    run = source(tmp_path)
    changed(run.table("rate_per_second"), "received", 250, cell="c02", role="consumer", phase="measure")
    assert likely_limit(run, "c02") == "At its limit: consumers (backlog grew by 300 messages)."


def test_the_warm_up_does_not_count(tmp_path: Path) -> None:
    run = source(tmp_path)
    changed(run.table("reading_per_second"), "value", 2.0, cell="c02", metric="cpu_busy_cores", phase="warm_up")
    assert not any(u.at_limit for u in uses(run, "c02"))


def test_without_readings_it_says_so(tmp_path: Path) -> None:
    run = read_source(write_results(tmp_path / "run", SHORT))
    bare = Source(run.run, run.plan, run.environment, run.state, run.verdict, {})
    assert likely_limit(bare, "c01") == "There are no readings to judge from."
