from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from brokerlab.evidence.tables import EVIDENCE_TABLES
from brokerlab.judge.checks import CHECKS
from brokerlab.results.tables import RESULT_TABLES

TOP = Path(__file__).parents[3]
PAGE = TOP / "docs" / "measurements.md"


def test_the_page_is_what_the_declarations_say() -> None:
    made = subprocess.run(
        [sys.executable, TOP / "tools/measurements_page.py"], capture_output=True, text=True, check=True
    )
    assert PAGE.read_text() == made.stdout, "`make docs` writes it"


def test_every_reason_is_on_the_page_with_its_rule() -> None:
    page = PAGE.read_text()
    for check in CHECKS:
        assert f"| {check.code} | {check.rule} | {check.weight} |" in page


def test_every_column_is_on_the_page_with_a_definition() -> None:
    page = PAGE.read_text()
    for table in (*EVIDENCE_TABLES.values(), *RESULT_TABLES.values()):
        section = page.split(f"### {table.name}\n")[1].split("\n### ")[0]
        for column in table.columns:
            assert column.meaning
            assert f"| `{column.name}` | {column.type} |" in section


def test_units_are_given_for_all_quantities_with_a_suffix() -> None:
    suffixes = {"_ns": "ns", "_unix_s": "s", "_cores_mean": "cores"}
    for table in (*EVIDENCE_TABLES.values(), *RESULT_TABLES.values()):
        for column in table.columns:
            for suffix, unit in suffixes.items():
                if column.name.endswith(suffix):
                    assert column.unit == unit, f"{table.name}.{column.name}"


def test_no_table_of_the_page_is_broken_by_a_blank_line() -> None:
    lines = PAGE.read_text().splitlines()
    first_rows = [i for i, line in enumerate(lines) if line.startswith("|") and not lines[i - 1].startswith("|")]
    assert first_rows
    assert [lines[i] for i in first_rows if not lines[i + 1].startswith("| --- |")] == []
