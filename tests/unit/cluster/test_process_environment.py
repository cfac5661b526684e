"""What servers inherit of our environment."""

from __future__ import annotations

import pytest

from brokerlab.cluster.process import inherited_environment
from brokerlab.model.plan import Security


@pytest.fixture(autouse=True)
def variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LAB_PASSWORD", "LAB_OPTIONS", "LAB_OTHER"):
        monkeypatch.setenv(name, "value")


def inherited(security: Security | None, *dropped: str) -> set[str]:
    return {name for name in inherited_environment(security, *dropped) if name.startswith("LAB_")}


def test_everything_but_what_is_dropped_is_inherited() -> None:
    assert inherited(None, "LAB_OPTIONS") == {"LAB_PASSWORD", "LAB_OTHER"}


def test_the_variable_that_holds_the_password_is_not() -> None:
    security = Security(user="lab", password="env:LAB_PASSWORD")
    assert inherited(security, "LAB_OPTIONS") == {"LAB_OTHER"}


def test_a_password_in_a_file_hides_no_variable() -> None:
    assert len(inherited(Security(user="lab", password="file:LAB_PASSWORD"))) == 3
