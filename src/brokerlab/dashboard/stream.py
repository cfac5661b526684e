"""Server-sent events of a run. Each tab has its own place in what there is: a slow one delays itself only, one that comes back
gets everything, and none holds up the server when it ends."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator
from typing import Any

from brokerlab.dashboard.following import POLL_S, FollowedRun
from brokerlab.dashboard.safety import Outward
from brokerlab.errors import BrokerlabError
from brokerlab.model.execution_id import ExecutionId

BEAT_S = 10.0


def event(kind: str, data: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps(data, separators=(',', ':'), allow_nan=False)}\n\n".encode()


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

    def news(self) -> list[bytes]:
        """Events since the last call; the whole history first, and again when another execution is shown."""
        with self._run.reading():
            found = []
            state = self._run.state(self._wanted)
            if state != self._state:
                self._state = state
                found.append(event("state", self._outward.everything(state)))
            if state["shown"] is not None:
                found += self._of_execution(ExecutionId.parse(state["shown"]))
            return found

    def _of_execution(self, execution: ExecutionId) -> list[bytes]:
        tables = self._run.poll(execution)
        shown, found = (execution, id(tables)), []
        changes = tables.changes(self._version) if shown == self._shown else None
        if changes is None:
            found.append(event("history", {"execution": str(execution), "tables": tables.whole()}))
        elif changes:
            found.append(event("update", {"execution": str(execution), "tables": changes}))
        self._shown, self._version = shown, tables.version
        so_far = self._run.so_far(execution, tables)
        if so_far != self._so_far:
            self._so_far = so_far
            found.append(event("now", self._outward.everything(so_far)))
        return found


async def stream(of: RunStream, ending: threading.Event) -> AsyncIterator[bytes]:
    """Until the tab goes away or the server ends."""
    yield b"retry: 1000\n\n"
    idle_s = 0.0
    while not ending.is_set():
        try:
            news = await asyncio.to_thread(of.news)
        except (BrokerlabError, OSError) as e:  # a run that was deleted while it was shown
            said = e.message if isinstance(e, BrokerlabError) else type(e).__name__
            yield event("gone", {"error": said.splitlines()[0].rpartition("/")[2]})
            return
        for one in news:
            yield one
        idle_s = 0.0 if news else idle_s + POLL_S
        if idle_s >= BEAT_S:
            idle_s = 0.0
            yield b": still here\n\n"
        await asyncio.sleep(POLL_S)
