"""The report of a run that only watched, in a real headless Chromium."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from browsing import DRAWN, POOR_CONTRAST, need_chromium

from brokerlab import lab

need_chromium()
Open = Callable[..., Any]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four seconds of this host and of the process that tests."""
    wanted = lab.watch_targets(["host", f"process={os.getpid()}"])
    return lab.watch(wanted, tmp_path_factory.mktemp("watched"), for_s=4.0).report


@pytest.mark.parametrize(("width", "scheme"), [(1400, "light"), (400, "dark")])
def test_charts_are_drawn_and_the_page_fits(visit: Open, page: Path, width: int, scheme: str) -> None:
    seen = visit(page, width=width, scheme=scheme)
    titles = seen.page.locator("figcaption b").all_inner_texts()
    assert {"Processors", "Resident memory", "Disk", "Network"} <= set(titles)
    pixels = [c.evaluate(DRAWN) for c in seen.page.query_selector_all('[data-chart="watched"] canvas')]
    assert len(pixels) == len(titles)
    assert min(pixels) > 100
    assert seen.page.evaluate(POOR_CONTRAST) == []
    assert seen.page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
