"""The tables that only the lake has, written into docs/lake.md between two marks.

Run as `python tools/lake_tables.py docs/lake.md`.
"""

from __future__ import annotations

import sys
from pathlib import Path

from brokerlab.lake.tables import CELLS, DOCUMENTS, EVIDENCE_COUNT, EVIDENCE_FILE, EXECUTIONS, REASONS, RUNS

BEGINS, ENDS = "<!-- tables: written by `make docs` -->", "<!-- end of tables -->"


def lines() -> list[str]:
    """Markdown of every column, from the declarations."""
    made = []
    for table in (RUNS, CELLS, EXECUTIONS, REASONS, DOCUMENTS, EVIDENCE_FILE, EVIDENCE_COUNT):
        made += [f"### {table.name}", "", table.meaning, "", "| column | type | unit | meaning |", "|---|---|---|---|"]
        made += [f"| `{c.name}` | {c.type} | {c.unit} | {c.meaning} |" for c in table.columns] + [""]
    return made[:-1]


def with_tables(page: str) -> str:
    """The page with the part between its two marks made again."""
    before, begins, rest = page.partition(BEGINS)
    _, ends, after = rest.partition(ENDS)
    if not (begins and ends):
        raise SystemExit(f"the page must have the marks {BEGINS} and {ENDS}, each on a line of its own")
    return "\n".join([before + BEGINS, "", *lines(), "", ENDS + after])


if __name__ == "__main__":
    page = Path(sys.argv[1])
    page.write_text(with_tables(page.read_text()))
