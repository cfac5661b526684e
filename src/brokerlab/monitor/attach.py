"""Jolokia's agent attached to a JVM that runs already: only where the user asks for it, and stopped again at the end.

It listens on loopback and lets clients read the beans of the table of metrics, nothing else. (Its classes stay loaded in the
JVM until that ends.)
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from brokerlab.brokers.kit.jolokia import Jolokia, policy, requests_for
from brokerlab.errors import MachineError, UserError
from brokerlab.install.java import find_java
from brokerlab.install.maven import install_artifacts, missing, read_lock
from brokerlab.model.watched import WatchedMetric, beans_of
from brokerlab.processes.ports import HeldPorts

LOCK_FILE = Path(__file__).with_name("jolokia.lock")
READY_S = 60.0
_COMMAND_S = 60.0


@dataclass(frozen=True)
class Attached:
    """An agent of ours in a JVM."""

    pid: int
    url: str
    command: tuple[str, ...]  # that stops it

    def detach(self) -> str | None:
        """Stop the agent; what is left and why, where that fails."""
        said = _run([*self.command, "stop", str(self.pid)])
        return None if said.returncode == 0 or not Path(f"/proc/{self.pid}").exists() else said.stdout.strip()


def attach(pid: int, rows: Iterable[WatchedMetric], directory: Path) -> Attached:
    """`directory` gets the agent's policy. Raises UserError for what is no JVM, MachineError where it cannot be attached."""
    if not is_jvm(pid):
        raise UserError(
            f"process {pid} is not a JVM, or belongs to another user", hint="give the process of a java program"
        )
    java = find_java()
    if java is None:
        raise MachineError(
            "there is no Java to attach an agent with", hint="brokerlab install a broker that needs Java"
        )
    rows = tuple(rows)
    rights = directory / f"jolokia-policy-{pid}.xml"
    rights.write_text(policy(beans_of(rows)))
    held = HeldPorts(1)
    (port,) = held.numbers
    options = ("--host=127.0.0.1", f"--port={port}", "--discoveryEnabled=false", f"--policyLocation={rights.as_uri()}")
    command = (str(java.path), "-jar", str(_agent()))
    said = _run([*command, *options, "start", str(pid)])
    url = f"http://127.0.0.1:{port}/jolokia/"
    # The program may say that it failed although the agent has started: what counts is whether it answers.
    if not _answers(url, rows):
        raise MachineError(f"no agent could be attached to process {pid}: {said.stdout.strip()[-300:]}",
                           hint="the JVM must be of the same user, and must allow agents (-XX:+DisableAttachMechanism forbids them)")  # fmt: skip
    return Attached(pid, url, command)


def is_jvm(pid: int) -> bool:
    try:
        return "libjvm.so" in Path(f"/proc/{pid}/maps").read_text(errors="replace")
    except OSError:
        return False


def _agent() -> Path:
    """The agent's jar, fetched where it is not in the cache."""
    artifacts = read_lock(LOCK_FILE)
    if missing(artifacts):
        install_artifacts(artifacts, lambda _what, _done: None)
    return artifacts[0].path


def _answers(url: str, rows: tuple[WatchedMetric, ...]) -> bool:
    jolokia, until = Jolokia(url, None), time.monotonic() + READY_S
    while time.monotonic() < until:
        try:
            jolokia.ask(requests_for(rows)[:1])
        except OSError:
            time.sleep(0.1)
            continue
        return True
    return False


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            timeout=_COMMAND_S, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired as late:
        return subprocess.CompletedProcess(command, 1, f"no answer within {late.timeout:g} s")
