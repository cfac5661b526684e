"""A child that speaks JSON lines: started, spoken to, listened to, ended through its handle."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from brokerlab.lifeline import end_with_parent


@dataclass(frozen=True)
class Event:
    """Something a child said; `kind` "ended" is said for it when its output ends, with its exit code."""

    source: str
    kind: str
    facts: dict[str, Any]


class TalkingProcess:
    """One agent or probe. Its events go to the queue it is given; its standard error to a log file."""

    def __init__(self, name: str, module: str, log: Path, events: queue.SimpleQueue[Event]) -> None:
        self.name = name
        self.log = log
        self._module = module
        self._events = events
        self._process: subprocess.Popen[bytes] | None = None
        self._listener: threading.Thread | None = None

    def start(self, opening: str, extra_env: Mapping[str, str] | None = None, cores: tuple[int, ...] = ()) -> None:
        """Start it, on these cores where any are given, unless `prepare` did, and write its opening line, a plan."""
        if self._process is None:
            self.prepare(extra_env, cores)
        self.write_line(opening)

    def prepare(self, extra_env: Mapping[str, str] | None = None, cores: tuple[int, ...] = ()) -> None:
        """Start the process alone: it waits for its opening line."""
        self.log.parent.mkdir(parents=True, exist_ok=True)
        # One BLAS thread: more would only be woken, never used.
        env = {**os.environ, "OPENBLAS_NUM_THREADS": "1", **(extra_env or {})}
        with self.log.open("ab") as stderr:
            self._process = subprocess.Popen(
                [sys.executable, "-m", self._module],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                env=env,
                start_new_session=True,
                preexec_fn=partial(end_with_parent, cores),
            )
        self._listener = threading.Thread(target=self._listen, name=f"listen-{self.name}", daemon=True)
        self._listener.start()

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def _listen(self) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                try:
                    said = json.loads(line)
                    self._events.put(Event(self.name, said.pop("event"), said))
                except (ValueError, KeyError):
                    self._events.put(Event(self.name, "noise", {"text": line.decode(errors="replace")}))
        self._events.put(Event(self.name, "ended", {"exit_code": self._process.wait()}))

    def write_line(self, line: str) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # its end comes as an event
            self._process.stdin.write(line.encode() + b"\n")
            self._process.stdin.flush()

    def tell(self, command: str, **facts: Any) -> None:
        self.write_line(json.dumps({"command": command, **facts}))

    def let_go(self) -> None:
        """Close its input: it saves and ends by itself."""
        if self._process is not None and self._process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.close()

    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def stop(self, grace_s: float) -> None:
        """Let it end by itself within the grace time, else kill it. Idempotent.

        Its output ends when the last of its own children has ended too, so evidence is on disk when this returns; a
        child that hangs is not waited for longer than the grace time.
        """
        self.let_go()
        if self._process is None or self._listener is None:
            return
        try:
            self._process.wait(grace_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._listener.join(grace_s)

    def error_text(self, lines: int = 20) -> str:
        """The last lines it wrote to its standard error."""
        try:
            return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])
        except OSError:
            return ""


def stop_all(processes: Sequence[TalkingProcess], grace_s: float) -> None:
    """All inputs are closed first, so that they end side by side."""
    for process in processes:
        process.let_go()
    for process in processes:
        process.stop(grace_s)
