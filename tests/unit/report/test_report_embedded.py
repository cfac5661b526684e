"""Tables as the page carries them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from brokerlab.model.arrow import arrow_schema
from brokerlab.model.metrics import FROM_SCHEDULE, MEASURES
from brokerlab.report.embedded import CELLS_WITH_DATA, NOT_EMBEDDED, page_data
from brokerlab.report.source import read_source
from brokerlab.results.reader import read_table
from brokerlab.results.tables import RESULT_TABLES, UNREADABLE_SEGMENT
from synthetic_tables import Story, write_results

SHORT = Story(repeats=2, measure_s=4, warm_up_s=1, rate_per_s=300, lost=2)


def decoded(column: dict[str, Any]) -> list[Any]:
    if "values" in column:
        return list(column["values"])
    runs = column["runs"]
    return [v for v, n in zip(runs[::2], runs[1::2], strict=True) for _ in range(n)]


def test_every_row_of_every_table_that_scripts_read_is_in_the_page(tmp_path: Path) -> None:
    run = write_results(tmp_path / "run", SHORT)
    data = json.loads(json.dumps(page_data(read_source(run))))
    assert set(data["tables"]) == set(RESULT_TABLES) - NOT_EMBEDDED
    for name, table in ((name, RESULT_TABLES[name]) for name in data["tables"]):
        stored = data["tables"][name]
        columns = [decoded(c) for c in stored["columns"]]
        rows = sorted(map(repr, zip(*columns, strict=True)))
        wanted = sorted(repr(tuple(r.values())) for r in read_table(run, table).to_pylist())
        assert rows == wanted, name
        assert stored["rows"] == len(wanted)
    assert data["tables"]["latency_heat"]["rows"] > 100


def test_a_table_that_names_no_cells_is_in_the_page(tmp_path: Path) -> None:
    run = write_results(tmp_path / "run", SHORT)
    row = {"run": run.name, "file": "evidence/c01-r1/sequence/a-000001.parquet", "table": "sequence",
           "execution": "c01-r1", "reason": "unreadable, 3 bytes: cut"}  # fmt: skip
    table = pa.Table.from_pylist([row], arrow_schema(UNREADABLE_SEGMENT))
    pq.write_table(table, run.tables / UNREADABLE_SEGMENT.name / "part-0.parquet")
    stored = page_data(read_source(run))["tables"][UNREADABLE_SEGMENT.name]
    assert stored["rows"] == 1
    assert {c["name"]: decoded(c) for c in stored["columns"]} == {name: [value] for name, value in row.items()}


def test_charts_draw_the_measures_from_the_scheduled_time_only(tmp_path: Path) -> None:
    data = page_data(read_source(write_results(tmp_path / "run", SHORT)))
    assert [m["key"] for m in data["measures"]] == list(FROM_SCHEDULE)
    (in_tables,) = (c for c in data["tables"]["latency_per_phase"]["columns"] if c["name"] == "measure")
    assert set(decoded(in_tables)) == set(MEASURES)


def test_beyond_the_limit_the_first_cells_are_kept_and_named(tmp_path: Path) -> None:
    story = Story(cells=CELLS_WITH_DATA + 2, repeats=1, measure_s=2, warm_up_s=1, rate_per_s=20)
    data = page_data(read_source(write_results(tmp_path / "run", story)))
    kept = {c["cell"] for c in data["cells"]}
    assert len(kept) == CELLS_WITH_DATA
    (cells,) = (c for c in data["tables"]["rate_per_second"]["columns"] if c["name"] == "cell")
    assert set(decoded(cells)) == kept
