"""Server-sent events of a run. Each tab has its own place in what there is: a slow one delays itself only, one that comes back
gets everything, and none holds up the server when it ends."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any

from brokerlab.dashboard.following import POLL_S, FollowedRun
from brokerlab.dashboard.safety import Outward
from brokerlab.dashboard.versions import as_json
from brokerlab.errors import BrokerlabError
from brokerlab.model.execution_id import ExecutionId

BEAT_S = 10.0


def event(kind: str, data: Any) -> bytes:
    return encoded(kind, as_json(data))


def encoded(kind: str, data: bytes) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (kind.encode(), data)


class RunStream:
    """What one tab has been sent of one run."""

    def __init__(self, run: FollowedRun, wanted: str | None, outward: Outward) -> None:
        self._run = run
        self._wanted = wanted
        self._outward = outward
        self._state: dict[str, Any] = {}
        self._shown: tuple[ExecutionId, int] | None = (
            None  # with the identity of its tables: another attempt has others
        )
        self._version = 0
        self._so_far: dict[str, Any] = {}

    def steps(self) -> tuple[Callable[[], list[bytes]], ...]:
        """Each gives the events since it was called last, or none; what is judged comes after what can be drawn."""
        return self._state_news, self._table_news, self._so_far_news

    def _state_news(self) -> list[bytes]:
        state = self._run.state(self._wanted)
        if state == self._state:
            return []
        self._state = state
        return [event("state", self._outward.everything(state))]

    def _execution(self) -> ExecutionId | None:
        shown = self._state.get("shown")
        return None if shown is None else ExecutionId.parse(shown)

    def _table_news(self) -> list[bytes]:
        """The whole history first, and again when another execution is shown."""
        execution = self._execution()
        if execution is None:
            return []
        with self._run.reading():
            tables = self._run.poll(execution)
            shown = (execution, id(tables))
            changes = tables.changes(self._version) if shown == self._shown else None
            self._shown, self._version = shown, tables.version
            if changes is None:
                return [encoded("history", b'{"execution":%s,"tables":%s}' % (as_json(str(execution)), tables.whole()))]
        return [event("update", {"execution": str(execution), "tables": changes})] if changes else []

    def _so_far_news(self) -> list[bytes]:
        execution = self._execution()
        if execution is None:
            return []
        with self._run.reading():
            so_far = self._run.so_far(execution, self._run.poll(execution))
        if so_far == self._so_far:
            return []
        self._so_far = so_far
        return [event("now", self._outward.everything(so_far))]


async def stream(of: RunStream, ending: threading.Event) -> AsyncIterator[bytes]:
    """Until the tab goes away or the server ends. A beat says that the server is there where nothing else does."""
    yield b"retry: 1000\n\n"
    idle_s = 0.0
    while not ending.is_set():
        idle_s += POLL_S
        for step in of.steps():
            try:
                news = await asyncio.to_thread(step)
            except (BrokerlabError, OSError) as e:  # a run that was deleted while it was shown
                said = e.message if isinstance(e, BrokerlabError) else type(e).__name__
                yield event("gone", {"error": said.splitlines()[0].rpartition("/")[2]})
                return
            for one in news:
                idle_s = 0.0
                yield one
        if idle_s >= BEAT_S:
            idle_s = 0.0
            yield event("beat", {})
        await asyncio.sleep(POLL_S)
