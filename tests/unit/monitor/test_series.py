"""From segments to series: counters add up, buckets hold every sample, what has gone is left out."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from brokerlab.evidence.tables import ACTIVITY, INTERVAL, READING
from brokerlab.evidence.writer import SegmentWriter
from brokerlab.model.arrow import arrow_schema
from brokerlab.model.execution_id import ExecutionId
from brokerlab.model.histogram import bucket_of
from brokerlab.model.tables import Table
from brokerlab.monitor import series as series_module
from brokerlab.monitor.graphite import line_of
from brokerlab.monitor.series import BOUNDS_S, Series, in_bounds, merged
from brokerlab.monitor.tail import News, Tail

EXECUTION = ExecutionId(cell="c01", repeat=1)


def rows(table: Table, *given: dict[str, Any]) -> pa.Table:
    """Rows with these values; other numbers are 0, texts and lists empty."""
    empty = {"string": "", "array<int>": [], "array<long>": []}
    whole = [{c.name: r.get(c.name, empty.get(c.type, 0)) for c in table.columns} for r in given]
    return pa.Table.from_pylist(whole, arrow_schema(table))


def news(table: Table, *given: dict[str, Any]) -> News:
    return News(EXECUTION, table.name, rows(table, *given))


def values(series: Series) -> dict[str, float]:
    return {p.row.metric: p.value for p in series.points()}


def test_counters_of_load_add_up_over_segments_and_roles() -> None:
    series = Series()
    sent = {"role": "producer", "agent": "p1", "second_unix_s": 10, "sent": 5, "bytes": 50, "in_flight": 3}
    series.take(news(ACTIVITY, sent, {**sent, "second_unix_s": 11, "in_flight": 2}))
    series.take(news(ACTIVITY, {**sent, "agent": "p2", "second_unix_s": 11, "in_flight": 4}))
    series.take(news(ACTIVITY, {"role": "consumer", "agent": "c1", "second_unix_s": 11, "received": 7, "bytes": 70}))
    found = values(series)
    assert found["sent_messages_total"] == 15
    assert found["sent_bytes_total"] == 150
    assert found["received_messages_total"] == 7
    assert found["received_bytes_total"] == 70
    assert found["in_flight_messages"] == 6  # the latest of each producer


def test_every_sample_is_in_a_bucket_and_the_sum_is_exact() -> None:
    taken_ns = np.array([40_000, 60_000, 60_000, 3_000_000, 90_000_000_000])
    buckets, counts = np.unique(bucket_of(taken_ns), return_counts=True)
    row = {"second_unix_s": 10, "publish_latency_bucket": buckets.tolist(), "publish_latency_count": counts.tolist()}
    series = Series()
    series.take(news(INTERVAL, {**row, "publish_latency_sum_ns": int(taken_ns.sum())}))
    ((subject, metric, found),) = series.histograms()
    assert (subject, metric.metric) == ("load:c01", "publish_latency")
    by_bound = dict(zip((*BOUNDS_S, float("inf")), found.counts.tolist(), strict=True))
    assert {bound: n for bound, n in by_bound.items() if n} == {50e-6: 1, 100e-6: 2, 5e-3: 1, float("inf"): 1}
    assert found.sum_s == pytest.approx(taken_ns.sum() / 1e9)


def test_histograms_of_many_rows_are_one() -> None:
    table = rows(
        INTERVAL,
        {"send_delay_bucket": [3, 5], "send_delay_count": [1, 1]},
        {"send_delay_bucket": [5], "send_delay_count": [2]},
    )
    buckets, counts = merged(table["send_delay_bucket"], table["send_delay_count"])
    assert (buckets.tolist(), counts.tolist()) == ([3, 5], [1, 3])
    assert in_bounds(buckets, counts)[0] == 4


def test_a_reading_goes_out_in_seconds_and_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    series = Series()
    reading = {"subject": "host", "metric": "disk_busy_ms_total", "unit": "ms", "value": 1500.0, "second_unix_s": 12}
    (point,) = series.take(news(READING, reading))
    assert line_of(point) == b"brokerlab.host.disk_busy_seconds_total 1.5 12\n"
    assert values(series) == {"disk_busy_ms_total": 1.5}
    later = time.monotonic() + series_module.STALE_S + 1
    monkeypatch.setattr(series_module.time, "monotonic", lambda: later)
    assert values(series) == {}  # its target has gone


def test_a_latency_is_two_lines_of_graphite() -> None:
    row = {"second_unix_s": 10, "send_delay_bucket": [3], "send_delay_count": [2], "send_delay_sum_ns": 6}
    points = Series().take(news(INTERVAL, row))
    lines = [line_of(p) for p in points if p.name]
    assert lines == [
        b"brokerlab.load.c01.send_delay_p50_seconds 3e-09 10\n",
        b"brokerlab.load.c01.send_delay_p99_seconds 3e-09 10\n",
    ]


def test_a_tail_passes_over_what_was_there_and_sees_each_segment_once(tmp_path: Path) -> None:
    def write(value: float) -> None:
        writer = SegmentWriter(tmp_path / "probes" / str(EXECUTION), "probe", READING)
        made = rows(
            READING,
            {"run": "r", "cell": "c01", "repeat": 1, "subject": "host", "metric": "load1", "unit": "1", "value": value},
        )
        writer.add({name: made[name].to_pylist() for name in made.column_names})
        writer.flush()

    write(1.0)
    tail = Tail(tmp_path)
    assert list(tail.look()) == []
    write(2.0)
    (tmp_path / "probes" / str(EXECUTION) / "reading" / "probe-000009.parquet").write_bytes(b"damaged")
    (found,) = tail.look()
    assert (found.execution, found.table, found.rows["value"].to_pylist()) == (EXECUTION, "reading", [2.0])
    assert list(tail.look()) == []
