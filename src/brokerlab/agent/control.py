"""The agent's conversation with the process that started it: one JSON object a line, commands in, events out.

In:  the AgentPlan; {"command": "start", "start_mono_ns": n, "unix_minus_mono_ns": n}; {"command": "report"};
     {"command": "measured", "end_mono_ns": n}: measure ended then, before its time; {"command": "finish"}. The end of the input means that the runner is gone: save and end.
Out: {"event": "ready", ...}, {"event": "live", ...} once a second, {"event": "report", "groups": {name: how far}},
     {"event": "done", ...},
     {"event": "failed", "kind": ..., "message": ..., "exit_code": n}.
"""

from __future__ import annotations

import json
import os
import select
import sys
from typing import Any

RUNNER_GONE = {"command": "finish", "reason": "the runner is gone"}


class Control:
    """Reads commands without ever waiting unless asked to; writes events."""

    def __init__(self) -> None:
        self._fd = sys.stdin.fileno()
        self._input = select.poll()  # not select(): file numbers may be above 1023
        self._input.register(self._fd, select.POLLIN)
        self._buffer = b""
        self._ended = False

    def _line(self) -> str | None:
        line, separator, rest = self._buffer.partition(b"\n")
        if not separator:
            return None
        self._buffer = rest
        return line.decode()

    def read_line(self) -> str | None:
        """Wait for one line; None when the input ends."""
        while (line := self._line()) is None:
            chunk = os.read(self._fd, 1 << 16)
            if not chunk:
                self._ended = True
                return None
            self._buffer += chunk
        return line

    def command(self, wait_s: float = 0.0) -> dict[str, Any] | None:
        """The next command, waiting at most so long; None when there is none."""
        if (line := self._line()) is not None:
            parsed: dict[str, Any] = json.loads(line)
            return parsed
        if self._ended:
            return RUNNER_GONE
        if not self._input.poll(wait_s * 1000):
            return None
        chunk = os.read(self._fd, 1 << 16)
        if not chunk:
            self._ended = True
            return RUNNER_GONE
        self._buffer += chunk
        return self.command(0.0)

    def say(self, event: str, **facts: Any) -> None:
        """Write one event. A runner that no longer listens is noticed by the end of the input, not here."""
        try:
            sys.stdout.write(json.dumps({"event": event, **facts}) + "\n")
            sys.stdout.flush()
        except BrokenPipeError:
            self._ended = True
