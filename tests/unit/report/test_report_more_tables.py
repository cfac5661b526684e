"""Parts of the page that are there only where a run has something to say in them."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from typing import Any

from brokerlab.report.page import render
from brokerlab.report.source import read_source
from brokerlab.results.directory import write_json
from brokerlab.results.tables import RESULT_TABLES
from synthetic_tables import Story, write_results, write_table

SHORT = Story(cells=1, repeats=1, measure_s=4, warm_up_s=1, rate_per_s=300)
WHERE = {"cell": "c01", "repeat": 1}


def page(tmp_path: Path, **tables: list[dict[str, Any]]) -> str:
    """The text of a page whose run has these rows."""
    run = write_results(tmp_path / "run", SHORT)
    for name, rows in tables.items():
        write_table(run.path, RESULT_TABLES[name], [WHERE | row for row in rows])
    bare = re.sub(r"<(script|style|title)\b.*?</\1>", "", render(read_source(run)), flags=re.DOTALL)
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", bare)))


def test_catching_up_is_told_with_its_exact_rate(tmp_path: Path) -> None:
    row = {"group": "x-late_g1", "consumer_set": "late", "backlog": 90_000, "while_sending": True, "received": 100_001, "waited_s": 1.25, "took_s": 0.1, "received_per_s": 1e6,
           "received_bytes_per_s": 220e6, "reason": ""}  # fmt: skip
    text = page(
        tmp_path,
        catch_up=[row, row | {"received_per_s": None, "received_bytes_per_s": None, "reason": "at one instant"}],
    )
    assert "kafka repeat 1 late_g1 while producers went on 90,000 100,001 1.25 s 100 ms 1,000,000/s 210 MiB/s" in text
    assert "at one instant" in text
    assert "Catching up" not in page(tmp_path / "tailing")


def test_one_minute_rates_are_those_of_the_last_measured_second(tmp_path: Path) -> None:
    row = {"second_unix_s": 5, "phase": "measure", "series": "sent", "per_s": 300.0, "one_minute_per_s": 24.0,
           "sliding_minute_per_s": None, "broker_one_minute_per_s": 23.5}  # fmt: skip
    rows = [row, row | {"second_unix_s": 4, "per_s": 1.0}, row | {"second_unix_s": 6, "phase": "drain", "per_s": 0.0}]
    assert "kafka repeat 1 300/s 24.0/s 23.5/s –" in page(tmp_path, minute_rate=rows)
    assert "Weighted minute" not in page(tmp_path / "none")


def test_a_sweep_that_scales_is_told_with_its_knee_and_other_series_with_why_not(tmp_path: Path) -> None:
    names = ("alone_per_s", "contention", "coherency", "knee")
    ends = {f"{n}{end}": v for n in names for end, v in (("", 2.0), ("_low", 1.0), ("_high", None))}
    row = {"axis": "producers.count", "series": "kafka", "metric": "sent_per_s", "cells": "c01", "left_out": "c03", "points": 5,
           "executions": 15, **ends, "knee_measured": True, "highest_per_s": 900.0, "deviation": 0.03, "reason": ""}  # fmt: skip
    none = (
        row
        | dict.fromkeys(ends)
        | {"highest_per_s": None, "deviation": None, "series": "nats", "reason": "3 different values"}
    )
    text = page(tmp_path, scaling=[row, none])
    assert "kafka producers.count, 5 values; without c03 sent rate 2.00/s from 1.00 2.00 from 1.00" in text
    assert "900/s 3.0 %" in text
    assert "nats: 3 different values" in text
    assert "Off the curve" not in page(tmp_path / "none")


def test_the_curve_goes_through_the_executions(tmp_path: Path) -> None:
    run = write_results(tmp_path / "run", Story(cells=2, repeats=2, measure_s=4, warm_up_s=1, rate_per_s=300))
    plan = run.plan()
    counted = [
        c.model_copy(update={"producers": c.producers.model_copy(update={"count": 2**i})})
        for i, c in enumerate(plan.cells)
    ]
    write_json(run.path / "plan.json", plan.model_copy(update={"cells": tuple(counted)}).model_dump(mode="json"))
    names = ("alone_per_s", "contention", "coherency", "knee")
    row = {"axis": "producers.count", "series": "kafka", "metric": "sent_per_s", "cells": "c01, c02", "left_out": "", "points": 2,
           "executions": 4, **{f"{n}{end}": 1.0 for n in names for end in ("", "_low", "_high")}, "knee_measured": True,
           "highest_per_s": 9.0, "deviation": 0.0, "reason": ""}  # fmt: skip
    row |= {"alone_per_s": 300.0, "contention": 1.0, "coherency": 0.0}  # the rate stays what it is
    write_table(run.path, RESULT_TABLES["scaling"], [row])
    html = render(read_source(run))
    picture = html[html.index("<svg") : html.index("</svg>")]
    heights = set(re.findall(r'cy="([0-9.]+)"', picture))
    assert picture.count("<circle") == 4
    assert heights == {point.split(",")[1] for point in re.findall(r'points="([^"]+)"', picture)[0].split()}
    assert len(heights) == 1
    assert re.findall(r">([0-9,.]+)/s<", picture) == ["0", "100", "200", "300"]
    assert 'href="#scaling"' in html


def test_what_single_messages_say_stands_with_delivery(tmp_path: Path) -> None:
    row = {"group": "g1", "figure": "lost", "as_told": 0, "by_message": 0, "difference": 0}
    assert "all 2 figures of delivery and latency are the same" in page(tmp_path, recount=[row, row])
    late = row | {"figure": "publish_latency", "group": "", "as_told": 9, "difference": 9}
    text = page(tmp_path / "apart", recount=[row, row | {"by_message": 1234, "difference": 1234}, late])
    assert "these figures differ: kafka, repeat 1, lost g1: 0 by ranges, 1,234 by single messages" in text
    assert "publish latency : 9 by histograms, 0 by single messages" in text
    assert "single messages" not in page(tmp_path / "none").split("Method")[0]
