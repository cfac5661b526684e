"""docs/lake.md names every column of the lake's own tables, as they are declared."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).parents[3]
TOOL = TOP / "tools" / "lake_tables.py"
PAGE = TOP / "docs" / "lake.md"


def test_the_page_is_what_the_declarations_say(tmp_path: Path) -> None:
    made = tmp_path / "lake.md"
    made.write_text(PAGE.read_text())
    subprocess.run([sys.executable, TOOL, made], check=True)
    assert PAGE.read_text() == made.read_text(), "`make docs` writes it"


@pytest.mark.parametrize("damage", ["| `run` |", "### cells\n"])
def test_a_part_that_was_changed_by_hand_is_made_again(tmp_path: Path, damage: str) -> None:
    made = tmp_path / "lake.md"
    made.write_text(PAGE.read_text().replace(damage, "", 1))
    subprocess.run([sys.executable, TOOL, made], check=True)
    assert made.read_text() == PAGE.read_text()


def test_a_page_without_marks_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    page = tmp_path / "lake.md"
    page.write_text("# nothing to fill in\n")
    said = subprocess.run([sys.executable, TOOL, page], capture_output=True, text=True, check=False)
    assert said.returncode == 1
    assert "must have the marks" in said.stderr
    assert page.read_text() == "# nothing to fill in\n"
