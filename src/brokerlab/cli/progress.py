"""How a run's progress is shown on stderr: bars on a terminal, plain lines elsewhere, nothing with --quiet."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from brokerlab.cli.text import duration_text
from brokerlab.model.listener import RunListener, SilentListener

if TYPE_CHECKING:
    from rich.progress import Progress

PLAIN_EVERY_S = 10.0  # elsewhere than on a terminal a line is for a log, not for the eye


class PlainListener:
    """One line per stage and note; of the live lines, one every few seconds."""

    def __init__(self, say: Callable[[str], None] | None = None, now_s: Callable[[], float] = time.monotonic) -> None:
        self._say = say or (lambda text: click.echo(text, err=True))
        self._now_s = now_s
        self._started_s = now_s()
        self._done = 0.0
        self._said_s = now_s()

    def stage(self, text: str) -> None:
        self._say(text)

    def progress(self, done: float, text: str) -> None:
        now = self._now_s()
        if done < self._done / 2:  # a study has begun its next run, whose pace is not known yet
            self._started_s = self._said_s = now
        self._done = done
        if now - self._said_s < PLAIN_EVERY_S:
            return
        self._said_s = now
        self._say(f"{done:4.0%}{_left(done, now - self._started_s)}  {text}")

    def note(self, text: str) -> None:
        self._say(text)


def _left(done: float, elapsed_s: float) -> str:
    """How long the rest takes at the pace so far; nothing while that would be a guess."""
    if not 0.02 <= done < 1:
        return ""
    return f", {duration_text(elapsed_s * (1 - done) / done)} left"


class TerminalListener:
    """A bar with the time left, the stage above it and the live line below."""

    def __init__(self, bars: Progress) -> None:
        self._bars = bars
        self._task = bars.add_task("starting", total=1.0, live="")

    def stage(self, text: str) -> None:
        self._bars.update(self._task, description=text, live="")

    def progress(self, done: float, text: str) -> None:
        self._bars.update(self._task, completed=min(max(done, 0.0), 1.0), live=text)

    def note(self, text: str) -> None:
        self._bars.console.print(text, markup=False, highlight=False)


@contextmanager
def listening(quiet: bool) -> Iterator[RunListener]:
    """The listener that fits where stderr goes; a bar is taken away again at the end."""
    if quiet:
        yield SilentListener()
    elif not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield PlainListener()
    else:
        with _bars() as bars:
            yield TerminalListener(bars)


def _bars() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=30),
        TaskProgressColumn(),
        TimeRemainingColumn(compact=True),
        TextColumn("{task.fields[live]}", style="dim", markup=False),
        console=Console(stderr=True),  # honours NO_COLOR by itself
        transient=True,
    )
