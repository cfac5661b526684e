"""PostgreSQL under root: whom its programs run as, and when there is no way."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from brokerlab.errors import MachineError
from brokerlab.processes import unprivileged
from brokerlab.processes.unprivileged import account_for, closed_to_others


@pytest.fixture
def opened() -> Iterator[Path]:
    """A directory others may enter, below which tests close what they like. pytest's own are private."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        directory.chmod(0o755)
        assert closed_to_others(directory) is None
        yield directory


def test_the_first_closed_directory_on_the_way_is_named(opened: Path) -> None:
    inner = opened / "a" / "b" / "c"
    inner.mkdir(parents=True)
    assert closed_to_others(inner / "not yet made") is None
    (opened / "a" / "b").chmod(0o700)
    assert closed_to_others(inner) == opened / "a" / "b"


def test_an_ordinary_user_runs_postgresql_directly(opened: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert account_for("It", opened).prefix == ()


def as_root(monkeypatch: pytest.MonkeyPatch, *, capable: bool, setpriv: str | None = "/usr/bin/setpriv") -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(unprivileged.shutil, "which", lambda _name: setpriv)
    monkeypatch.setattr(unprivileged, "_has_capabilities", lambda: capable)


def test_root_hands_over_to_nobody_and_keeps_the_parent_death_signal(
    opened: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    as_root(monkeypatch, capable=False)
    account = account_for("It", opened)
    assert account.name == "nobody"
    assert "--pdeathsig=keep" in account.prefix
    assert not any("caps" in word for word in account.prefix), "no capability where none is needed"


def test_a_closed_directory_takes_one_capability(opened: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened.chmod(0o700)
    as_root(monkeypatch, capable=True)
    assert "--ambient-caps=+dac_override" in account_for("It", opened).prefix


def test_a_closed_directory_without_the_capability_is_refused_with_what_to_do(
    opened: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened.chmod(0o700)
    as_root(monkeypatch, capable=False)
    with pytest.raises(MachineError, match="BROKERLAB_HOME"):
        account_for("It", opened)


def test_root_without_setpriv_is_refused_with_what_to_do(opened: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    as_root(monkeypatch, capable=True, setpriv=None)
    with pytest.raises(MachineError, match="ordinary user"):
        account_for("It", opened)
