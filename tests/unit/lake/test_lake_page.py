"""docs/lake.md names every column of the lake's own tables, as they are declared."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).parents[3]


def test_the_page_has_the_declared_columns() -> None:
    made = subprocess.run([sys.executable, TOP / "tools/lake_tables.py"], capture_output=True, text=True, check=True)
    assert made.stdout in (TOP / "docs" / "lake.md").read_text(), "tools/lake_tables.py prints them"
