"""The tables that only the lake has, for docs/lake.md. Run as `python tools/lake_tables.py`."""

from __future__ import annotations

from brokerlab.lake.tables import CELLS, EVIDENCE_COUNT, EVIDENCE_FILE, RUNS


def lines() -> list[str]:
    """Markdown of every column, from the declarations."""
    made = []
    for table in (RUNS, CELLS, EVIDENCE_FILE, EVIDENCE_COUNT):
        made += [f"### {table.name}", "", table.meaning, "", "| column | type | unit | meaning |", "|---|---|---|---|"]
        made += [f"| `{c.name}` | {c.type} | {c.unit} | {c.meaning} |" for c in table.columns] + [""]
    return made[:-1]


if __name__ == "__main__":
    print("\n".join(lines()))
