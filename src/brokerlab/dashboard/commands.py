"""Commands that were started from a page: each is a process of its own, the same as if it had been typed, and outlives the
server. What is known of them is kept beside the runs, so that another server finds them.

    <runs>/.started/<id>/
      command.json       what was started, when, in which process
      output.log         what it printed        exit_code      once it has ended
      <name>.yaml        the workload that a page edited
"""

from __future__ import annotations

import contextlib
import json
import re
import secrets
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import psutil

from brokerlab.errors import NotFoundError
from brokerlab.results.directory import run_directories, write_json
from brokerlab.results.run_state import runner_pid

FOLDER = ".started"
KEPT = 40
OUTPUT_CHARACTERS = 6000
_ID = re.compile(r"[0-9]{10}-[0-9a-f]{6}")
# The shell notes the exit code although no server may be there to see it; arguments are passed on as they are.
_SHELL = '"$@" >output.log 2>&1 </dev/null; echo $? >.exit_code; mv .exit_code exit_code'
_children: list[subprocess.Popen[bytes]] = []  # those of this process, which may end before they do


@dataclass(frozen=True)
class Command:
    """`what` is for people: "run steady", "install BROKER"."""

    id: str
    what: str
    arguments: tuple[str, ...]
    started_unix_s: float
    pid: int = 0
    pid_born_unix_s: float = 0.0


class Commands:
    """Starts commands and says how they fare."""

    def __init__(self, runs: Path) -> None:
        self._runs = runs
        self._folder = runs / FOLDER

    def start(self, what: str, arguments: list[str], files: dict[str, str] | None = None) -> Command:
        """Start `brokerlab ARGUMENTS` in a folder of its own that holds `files`."""
        self._forget_old()
        name = f"{int(time.time())}-{secrets.token_hex(3)}"
        folder = self._folder / name
        folder.mkdir(parents=True, mode=0o700)
        for file, text in (files or {}).items():
            (folder / file).write_text(text, encoding="utf-8")
        whole = ["sh", "-c", _SHELL, "sh", sys.executable, "-m", "brokerlab.cli.main", *arguments]
        child = subprocess.Popen(
            whole, cwd=folder, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        _children.append(child)
        born = psutil.Process(child.pid).create_time()
        found = Command(name, what, tuple(arguments), time.time(), child.pid, born)
        write_json(folder / "command.json", asdict(found))
        return found

    def find(self, name: str) -> Command:
        if not _ID.fullmatch(name):
            raise NotFoundError("no such command")
        try:
            fields = json.loads((self._folder / name / "command.json").read_text())
            return Command(**{**fields, "arguments": tuple(fields["arguments"])})
        except (OSError, ValueError, TypeError, KeyError):
            raise NotFoundError("no such command") from None

    def all(self) -> list[Command]:
        """The newest first."""
        found = []
        for path in sorted(self._folder.glob("*/command.json"), reverse=True):
            with contextlib.suppress(NotFoundError):
                found.append(self.find(path.parent.name))
        return found

    def state(self, command: Command) -> dict[str, Any]:
        """running, ended or gone (killed with its shell), what it printed last, and the run that it measures now."""
        _children[:] = [child for child in _children if child.poll() is None]  # no zombies
        code = self._exit_code(command)
        running = code is None and self._shell(command) is not None
        return {
            "id": command.id,
            "what": command.what,
            "state": "running" if running else "ended" if code is not None else "gone",
            "exit_code": code,
            "started_unix_s": command.started_unix_s,
            "output": self.output(command)[-OUTPUT_CHARACTERS:],
            "run": self._run(command) if running else None,
        }

    def output(self, command: Command) -> str:
        try:
            return (self._folder / command.id / "output.log").read_text("utf-8", errors="replace")
        except OSError:
            return ""

    def stop(self, command: Command) -> None:
        """As Ctrl-C does."""
        shell = self._shell(command)
        for process in [] if shell is None else shell.children():
            with contextlib.suppress(psutil.NoSuchProcess):
                process.send_signal(signal.SIGINT)

    def _run(self, command: Command) -> str | None:
        for run in reversed(run_directories(self._runs)):
            pid = runner_pid(run)
            with contextlib.suppress(psutil.NoSuchProcess):
                if pid is not None and psutil.Process(pid).ppid() == command.pid:
                    return run.name
        return None

    def _exit_code(self, command: Command) -> int | None:
        try:
            return int((self._folder / command.id / "exit_code").read_text())
        except (OSError, ValueError):
            return None

    def _shell(self, command: Command) -> psutil.Process | None:
        try:
            found = psutil.Process(command.pid)
            same = abs(found.create_time() - command.pid_born_unix_s) < 1
            return found if same and found.status() != psutil.STATUS_ZOMBIE else None
        except psutil.Error:
            return None

    def _forget_old(self) -> None:
        for old in self.all()[KEPT:]:
            if self._shell(old) is None:
                shutil.rmtree(self._folder / old.id, ignore_errors=True)
