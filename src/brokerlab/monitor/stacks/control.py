"""Stacks in the background: started by `monitor up`, asked by `monitor status`, stopped by `monitor down`.

`python -m brokerlab.monitor.stacks.control` is the process that holds one: one JSON line in, see processes.daemon.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, overload

from brokerlab.errors import NotFoundError, UserError
from brokerlab.home import cache_directory
from brokerlab.model.listener import SILENT, RunListener
from brokerlab.monitor.stacks.programs import graphite_programs, prometheus_programs
from brokerlab.monitor.stacks.stack import Stack
from brokerlab.monitor.stacks.targets import Target, check_reachable, parse_targets
from brokerlab.processes import daemon

READY_WITHIN_S = 180.0
STACKS = {"graphite": "--jmx", "prometheus": "--scrape"}  # by the option that says what is watched

Status = dict[str, Any]  # see _about
_TOLD = (
    "stack",
    "state",
    "addresses",
    "children",
    "given",
    "java_option",
    "versions",
    "uptime_s",
    "supervisor_pid",
    "directory",
)


def up(
    stack: str,
    *,
    jmx: Sequence[str] = (),
    scrape: Sequence[str] = (),
    port: int | None = None,
    directory: Path | None = None,
    listener: RunListener = SILENT,
) -> Status:
    """Start a stack on loopback that keeps running until `down`; installs it first where necessary.

    `jmx` are JVMs with remote JMX, for Graphite; `scrape` pages of metrics, for Prometheus; each [NAME=]HOST:PORT. `port` is
    that of the page, else a free one; `directory` is where stacks are kept, else a folder of the cache. Returns the status, with `started`: False when it was up already, and then nothing
    is changed.
    """
    _check_name(stack)
    given = _targets(stack, jmx, scrape)
    already = status(stack, directory)
    if already is not None:
        return {**already, "started": False}
    listener.stage(f"installing the programs of the {stack} stack")
    _programs(stack, given, lambda what, done: listener.progress(done, what))
    listener.stage(f"starting the {stack} stack")
    plan = {
        "stack": stack,
        "given": [f"{t.name}={t.address}" for t in given],
        "port": port,
        "directory": str(_directory(directory)),
    }
    started = daemon.start(_directory(directory), stack, [sys.executable, "-m", __name__], plan)
    return {**_about(started), "started": True}


def status(stack: str, directory: Path | None = None) -> Status | None:
    """What the supervisor of this stack answers; None when it is not up."""
    _check_name(stack)
    return _about(daemon.ask(_directory(directory), stack, "status"))


def statuses() -> list[Status]:
    """Every stack that is up."""
    return [found for found in map(status, STACKS) if found is not None]


def down(stack: str, directory: Path | None = None) -> Status:
    """Stop a stack that is up and delete its points; returns its last status."""
    _check_name(stack)
    answer = daemon.ask(_directory(directory), stack, "stop")
    if answer is None:
        raise NotFoundError(f"the {stack} stack is not up", hint=f"brokerlab monitor up --stack {stack} starts it")
    return _about(answer)


@overload
def _about(answer: daemon.Facts) -> Status: ...
@overload
def _about(answer: None) -> None: ...
def _about(answer: daemon.Facts | None) -> Status | None:
    """What of a supervisor's answer is about a stack; the rest is about brokers."""
    return None if answer is None else {name: answer[name] for name in _TOLD if name in answer}


def _directory(given: Path | None) -> Path:
    return (given or cache_directory() / "stacks").absolute()


def _check_name(stack: str) -> None:
    if stack not in STACKS:
        raise UserError(f"no stack is called {stack!r}", hint=f"stacks: {', '.join(STACKS)}")


def _targets(stack: str, jmx: Sequence[str], scrape: Sequence[str]) -> list[Target]:
    option = STACKS[stack]
    given, foreign = (jmx, scrape) if option == "--jmx" else (scrape, jmx)
    if foreign:
        other = "--scrape" if option == "--jmx" else "--jmx"
        raise UserError(f"{other} is not for the {stack} stack", hint=f"it takes {option} [NAME=]HOST:PORT")
    targets = parse_targets(option, given)
    check_reachable(option, targets)
    return targets


def _programs(stack: str, given: Sequence[Target], progress: Any) -> Any:
    return graphite_programs(progress, with_jmx=bool(given)) if stack == "graphite" else prometheus_programs(progress)


def _stack(plan: dict[str, Any], data: Path, logs: Path) -> Stack:
    from brokerlab.monitor.stacks.graphite import GraphiteStack
    from brokerlab.monitor.stacks.prometheus import PrometheusStack

    given = parse_targets(STACKS[plan["stack"]], plan["given"])
    programs = _programs(plan["stack"], given, lambda _what, _share: None)
    kind = GraphiteStack if plan["stack"] == "graphite" else PrometheusStack
    return kind(programs, given, data, logs, plan["port"])


def _supervise() -> int:
    plan = json.loads(sys.stdin.buffer.readline())
    return daemon.supervise(
        Path(plan["directory"]), plan["stack"], {"stack": plan["stack"]}, lambda data, logs: _stack(plan, data, logs), READY_WITHIN_S
    )  # fmt: skip


if __name__ == "__main__":
    sys.exit(_supervise())
