"""--from and --to: times have a zone, ranges are half open, and every row says its time in UTC."""

from __future__ import annotations

from typing import Any, cast

import pyarrow as pa
import pytest

from brokerlab.errors import UserError
from brokerlab.model.arrow import arrow_schema
from brokerlab.results.analyzed import AnalyzedRun
from brokerlab.results.export.time_range import TimeRange, check_table, csv_in_range, in_range, parse_range
from brokerlab.results.tables import READING_PER_SECOND, RUN_SUMMARY

NOON = 1_794_916_800  # 2026-11-17T12:00:00Z


class Recorded:
    """A run with readings of four seconds, not in order."""

    def table(self, table: Any) -> pa.Table:
        row = {"run": "r", "cell": "watch", "repeat": 1, "counted": True, "phase": "measure", "subject": "host"}
        seconds = (NOON + 2, NOON, NOON + 3, NOON + 1)
        rows = [{**row, "metric": "load1", "unit": "1", "value": s - NOON, "second_unix_s": s} for s in seconds]
        return pa.Table.from_pylist(rows, arrow_schema(table))


RUN = cast("AnalyzedRun", Recorded())


def test_zones_are_understood() -> None:
    assert parse_range("2026-11-17T12:00:00Z", "2026-11-17T13:00:02+01:00") == TimeRange(NOON, NOON + 2)
    assert parse_range(None, None) == TimeRange(None, None)


@pytest.mark.parametrize(
    ("begin", "end", "said"),
    [
        ("2026-11-17T12:00:00", None, "--from must have a zone"),
        (None, "noon", "--to must be a time"),
        ("2026-11-17T12:00:00Z", "2026-11-17T12:00:00+01:00", "--from must be before --to"),
    ],
)
def test_what_is_wrong_is_said(begin: str | None, end: str | None, said: str) -> None:
    with pytest.raises(UserError, match=said):
        parse_range(begin, end)


def test_a_range_has_its_first_second_and_not_its_last_in_order_of_time() -> None:
    found = in_range(RUN, READING_PER_SECOND, TimeRange(NOON + 1, NOON + 3))
    assert found["second_unix_s"].to_pylist() == [NOON + 1, NOON + 2]
    assert [t.isoformat() for t in found["time_utc"].to_pylist()] == [
        "2026-11-17T12:00:01+00:00",
        "2026-11-17T12:00:02+00:00",
    ]


def test_every_line_of_csv_begins_with_its_time_in_utc() -> None:
    head, *lines = csv_in_range([RUN], READING_PER_SECOND, TimeRange(None, NOON + 1)).splitlines()
    assert head.split(",")[:2] == ["time_utc", "run"]
    assert lines == [f"2026-11-17T12:00:00Z,r,watch,1,true,{NOON},measure,host,load1,0.0,1"]


def test_a_table_without_seconds_is_refused() -> None:
    with pytest.raises(UserError, match="run_summary is none"):
        check_table(RUN_SUMMARY)
