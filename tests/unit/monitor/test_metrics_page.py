"""docs/metrics.md is what the table of metrics says."""

from __future__ import annotations

from pathlib import Path

from brokerlab.monitor.metrics_page import page
from brokerlab.monitor.table import table

PAGE = Path(__file__).parents[3] / "docs" / "metrics.md"


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text() == page(), "make docs writes it"


def test_every_row_is_on_it() -> None:
    text = page()
    assert [e.row.prometheus for e in table() if e.row.prometheus not in text] == []
