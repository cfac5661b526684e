"""Fixtures of the end-to-end tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from lab import Lab, private_home


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One home for all tests of a process, which run one after the other: runs of others are not waited for."""
    return private_home(tmp_path_factory.mktemp("lab") / "home")


@pytest.fixture
def lab(home: Path, tmp_path: Path) -> Lab:
    return Lab(home, tmp_path / "runs")
