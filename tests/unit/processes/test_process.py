"""What servers inherit of our environment, and what is shown of their logs."""

from __future__ import annotations

from pathlib import Path

import pytest

from brokerlab.model.plan import Security
from brokerlab.processes.process import ServerProcess, inherited_environment


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


def tail_of(log: Path, *lines: str) -> list[str]:
    log.write_text("\n".join(lines))
    return ServerProcess("server-1", [], log, log.parent, {}).log_tail(2).splitlines()


def test_errors_further_above_stand_before_the_last_lines(tmp_path: Path) -> None:
    said = ["INFO starting", "12:00 ERROR cannot listen", "\tat Net.bind", "Caused by: java.net.BindException: in use"]
    shown = [
        "12:00 ERROR cannot listen",
        "Caused by: java.net.BindException: in use",
        "...",
        "INFO closing",
        "INFO bye",
    ]
    assert tail_of(tmp_path / "log", *said, "INFO closing", "INFO bye") == shown


def test_a_log_without_errors_is_only_its_end(tmp_path: Path) -> None:
    assert tail_of(tmp_path / "log", "INFO no errors so far", "INFO closing", "INFO bye") == [
        "INFO closing",
        "INFO bye",
    ]


def test_an_error_among_the_last_lines_is_shown_once_and_not_too_many_before(tmp_path: Path) -> None:
    assert tail_of(tmp_path / "log", "INFO", "ERROR here", "INFO") == ["ERROR here", "INFO"]
    many = tail_of(tmp_path / "log", *(f"[ERR] {i}" for i in range(1000)))
    shown = [*range(6), None, *range(992, 998), None, 998, 999]
    assert many == ["..." if i is None else f"[ERR] {i}" for i in shown]
