from __future__ import annotations

import io

import pytest
from rich.console import Console
from rich.progress import Progress, TextColumn

from brokerlab.cli.progress import PLAIN_EVERY_S, PlainListener, TerminalListener, listening
from brokerlab.model.listener import SilentListener


class _Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_plain_lines_come_seldom_and_say_the_time_left() -> None:
    said: list[str] = []
    clock = _Clock()
    listener = PlainListener(said.append, clock)
    listener.stage("starting kafka")
    listener.progress(0.1, "too soon")
    clock.now += PLAIN_EVERY_S
    listener.progress(0.25, "20,000/s")
    listener.progress(0.26, "too soon again")
    listener.note("repeat 1 finished")
    assert said == ["starting kafka", " 25%, 30 s left  20,000/s", "repeat 1 finished"]


def test_the_time_left_is_that_of_the_run_under_way_where_a_study_has_several() -> None:
    said: list[str] = []
    clock = _Clock()
    listener = PlainListener(said.append, clock)
    clock.now += 1000
    listener.progress(0.98, "the first run")
    clock.now += PLAIN_EVERY_S
    listener.progress(0.03, "the next one begins")
    clock.now += PLAIN_EVERY_S
    listener.progress(0.5, "half of it")
    assert said == [" 98%, 20 s left  the first run", " 50%, 10 s left  half of it"]


def test_a_terminal_shows_stage_share_and_live_line() -> None:
    out = io.StringIO()
    columns = (TextColumn("{task.description}|{task.percentage:.0f}|{task.fields[live]}", markup=False),)
    with Progress(*columns, console=Console(file=out, width=80, force_terminal=False)) as bars:
        listener = TerminalListener(bars)
        listener.stage("kafka [1 of 2]")
        listener.progress(0.5, "sent 20,000/s")
        listener.progress(7.0, "more than all")
        assert bars.tasks[0].completed == 1.0
        listener.progress(0.5, "sent [20,000]/s")
        listener.note("kept [c01] from before")
    assert "kafka [1 of 2]|50|sent [20,000]/s" in out.getvalue()
    assert "kept [c01] from before" in out.getvalue()


def test_the_listener_fits_where_stderr_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    with listening(quiet=True) as silent:
        assert isinstance(silent, SilentListener)
    monkeypatch.setattr("sys.stderr", io.StringIO())
    with listening(quiet=False) as plain:
        assert isinstance(plain, PlainListener)

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stderr", Terminal())
    with listening(quiet=False) as bars:
        assert isinstance(bars, TerminalListener)
