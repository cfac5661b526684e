"""Fixtures of the end-to-end tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browsing import Open, started_browser, visits
from lab import Lab, private_home

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One home for all tests of a process, which run one after the other: runs of others are not waited for."""
    return private_home(tmp_path_factory.mktemp("lab") / "home")


@pytest.fixture
def lab(home: Path, tmp_path: Path) -> Lab:
    return Lab(home, tmp_path / "runs")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with started_browser() as started:
        yield started


@pytest.fixture
def visit(browser: Browser) -> Iterator[Open]:
    """Opens a page in a context of its own: visit(path, width=400, scheme="dark")."""
    with visits(browser) as opened:
        yield opened
