"""A stack: several child processes that are started together, proven ready, looked after and stopped together."""

from __future__ import annotations

import shutil
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from brokerlab.model.plan import Endpoint
from brokerlab.processes.process import ServerProcess, stop_together
from brokerlab.processes.readiness import wait_until

_STOP_GRACE_S = 10.0
_SOON_S = 30.0  # a child that ends sooner than this after its start has not recovered
_PAUSE_MOST_S = 30.0


@dataclass
class Child:
    """One process of a stack and what became of it. `on_restart` is done before it is started again."""

    process: ServerProcess
    does: str  # in a few words, for people
    on_restart: Callable[[], None] | None = None
    restarts: int = 0
    last_end: str | None = None
    last_end_unix_s: float | None = None
    _started_mono_s: float = 0.0
    _again_mono_s: float | None = None
    _pause_s: float = 0.0

    @property
    def name(self) -> str:
        return self.process.name

    @property
    def pid(self) -> int:
        return self.process.pid

    def start(self, now_mono_s: float) -> None:
        self._started_mono_s, self._again_mono_s = now_mono_s, None
        self.process.start()

    def look_after(self, now_mono_s: float) -> None:
        """Start it again where it has died: at once the first time, later and later where it ends again soon."""
        if self._again_mono_s is None:
            if not self.process.died():
                return
            self.last_end, self.last_end_unix_s = end_in_words(self.process.exit_code()), time.time()
            lived_s = now_mono_s - self._started_mono_s
            self._pause_s = min(_PAUSE_MOST_S, max(1.0, 2 * self._pause_s)) if lived_s < _SOON_S else 0.0
            self._again_mono_s = now_mono_s + self._pause_s
        if now_mono_s >= self._again_mono_s:
            if self.on_restart is not None:
                self.on_restart()
            self.restarts += 1
            self.start(now_mono_s)

    def facts(self) -> dict[str, Any]:
        alive = self.process.is_running()
        return {
            "name": self.name,
            "does": self.does,
            "pid": self.pid if alive else None,
            "state": "running" if alive else "waiting to be started again",
            "restarts": self.restarts,
            "last_end": self.last_end,
            "last_end_unix_s": None if self.last_end_unix_s is None else round(self.last_end_unix_s, 3),
            "log": str(self.process.log),
        }


def end_in_words(exit_code: int | None) -> str:
    if exit_code is not None and exit_code < 0:
        return f"killed by {signal.Signals(-exit_code).name}"
    return f"ended with exit code {exit_code}"


@dataclass
class Stack:
    """Held by a supervisor: see processes.daemon.HeldCluster and LookedAfter. What is left to each kind of stack: making
    its children and their files, and proving that a point went all the way."""

    data: Path
    logs: Path
    versions: dict[str, str] = field(default_factory=dict)
    children: list[Child] = field(default_factory=list)

    def child(
        self,
        name: str,
        does: str,
        command: Sequence[str],
        env: Mapping[str, str],
        on_restart: Callable[[], None] | None = None,
    ) -> None:
        """Add a process that works in a folder of its own."""
        process = ServerProcess(name, command, self.logs / f"{name}.log", self.data / name, env)
        self.children.append(Child(process, does, on_restart))

    def write_files(self) -> None:
        raise NotImplementedError

    def proofs(self) -> dict[str, Callable[[], bool]]:
        """What must hold before the stack is ready, by what it is called in an error; OSError counts as "not yet"."""
        raise NotImplementedError

    def addresses(self) -> dict[str, str]:
        """Where people and programs reach it, by what is there; the first is the page to open."""
        raise NotImplementedError

    def start(self) -> None:
        self.data.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.write_files()
        for child in self.children:
            child.start(time.monotonic())

    def wait_ready(self, deadline_mono_ns: int) -> None:
        for what, holds in self.proofs().items():
            wait_until(what, holds, deadline_mono_ns, died=self.dead_nodes, log_tail=self.log_tail)

    def log_tail(self, lines: int = 8) -> str:
        return "\n".join(f"[{c.name}]\n{c.process.log_tail(lines)}" for c in self.children)

    def look_after(self) -> None:
        for child in self.children:
            child.look_after(time.monotonic())

    def endpoint(self) -> Endpoint:
        return Endpoint(addresses=tuple(self.addresses().values()))

    def nodes(self) -> Sequence[Child]:
        return self.children

    def dead_nodes(self) -> tuple[str, ...]:
        return tuple(c.name for c in self.children if c.process.died())

    def more_facts(self) -> dict[str, Any]:
        return {
            "addresses": self.addresses(),
            "children": [child.facts() for child in self.children],
            "versions": self.versions,
        }

    def stop(self) -> None:
        stop_together([child.process for child in self.children], _STOP_GRACE_S)

    def clean(self) -> None:
        shutil.rmtree(self.data, ignore_errors=True)
