"""The runner's side of exports: the exporter process is started before the load and ended after it."""

from __future__ import annotations

import queue
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from brokerlab.load.process import Event, TalkingProcess
from brokerlab.model.listener import RunListener
from brokerlab.monitor.exporter import plan_line
from brokerlab.monitor.exports import Export

READY_S = 30.0
END_S = 10.0


@contextmanager
def exporting(directory: Path, exports: tuple[Export, ...], say: RunListener) -> Iterator[None]:
    """While the block runs, what is added to the run directory is given out. An exporter that fails is a note."""
    if not exports:
        yield
        return
    events: queue.SimpleQueue[Event] = queue.SimpleQueue()
    process = TalkingProcess("exporter", "brokerlab.monitor.exporter", directory / "logs" / "exporter.log", events)
    process.start(plan_line(directory, exports))
    begun = _until(events, "ready", READY_S)
    if begun is None:
        say.note(f"nothing is exported: {process.error_text(1) or 'the exporter does not answer'}")
    else:
        say.note("exporting to " + ", ".join(f"{e.kind} {e.words}" for e in exports))
    try:
        yield
    finally:
        process.stop(END_S)
        done = None if begun is None else _until(events, "done", 0.0)
        for line in _lines(done) if begun is not None else ():
            say.note(line)


def _until(events: queue.SimpleQueue[Event], kind: str, within_s: float) -> dict[str, Any] | None:
    """The event's facts; None where the process ended first, or the time."""
    until = time.monotonic() + within_s
    while True:
        try:
            event = events.get(timeout=max(until - time.monotonic(), 0.0)) if within_s else events.get_nowait()
        except queue.Empty:
            return None
        if event.kind in (kind, "ended"):
            return event.facts if event.kind == kind else None


def _lines(done: dict[str, Any] | None) -> Iterator[str]:
    if done is None:
        yield "the exporter ended early: see logs/exporter.log in the run directory"
        return
    for one in done["graphite"]:
        why = f": {one['problem']}" if one["problem"] else ""
        lost = f", {one['lost']:,} lost{why}" if one["lost"] else ""
        yield f"graphite {one['to']}: {one['sent']:,} points sent{lost}"
