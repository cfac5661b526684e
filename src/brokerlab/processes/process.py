"""A child process that cannot outlive us, whose log is kept, and that is ended through its handle only."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from brokerlab.lifeline import die_with_parent
from brokerlab.model.log_lines import is_error
from brokerlab.model.plan import Security
from brokerlab.processes.confinement import Confinement

_ERRORS_SHOWN = 6


class ServerProcess:
    """One server: started in its own session, output appended to a log file, gone when we are gone."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        log: Path,
        directory: Path,
        env: Mapping[str, str],
        confinement: Confinement | None = None,
    ) -> None:
        self.name = name
        self.command = list(command)
        self.log = log
        self.directory = directory
        self.env = dict(env)
        self._confinement = confinement
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped = False

    def start(self) -> None:
        self.log.parent.mkdir(parents=True, exist_ok=True)
        self.directory.mkdir(parents=True, exist_ok=True)
        enter = die_with_parent if self._confinement is None else self._confinement.entering(self.name)
        env = self.env if self._confinement is None else self._confinement.environment(self.env, self.command)
        with self.log.open("ab") as out:
            self._process = subprocess.Popen(
                self.command,
                cwd=self.directory,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C at the terminal reaches the runner only, which then stops us in order
                preexec_fn=enter,
            )
        self._stopped = False  # only now: until then a process that was killed must not count as one that died

    @property
    def pid(self) -> int:
        if self._process is None:
            raise RuntimeError(f"{self.name} was not started")
        return self._process.pid

    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def died(self) -> bool:
        """The process has ended and it was not us who stopped it."""
        return self._process is not None and not self._stopped and self._process.poll() is not None

    def exit_code(self) -> int | None:
        return None if self._process is None else self._process.poll()

    def send(self, signal_number: int) -> None:
        """Signal the process through its handle: a pid that was reaped is never signalled."""
        if self._process is not None:
            self._process.send_signal(signal_number)

    def kill(self) -> None:
        """SIGKILL on purpose: `died` will not call it an accident. Returns when the process is gone."""
        self._stopped = True
        if self._process is not None and self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def stop(self, grace_s: float = 10.0, first: int = signal.SIGTERM) -> None:
        """SIGTERM, grace time, SIGKILL; then whatever is left of its process group. Idempotent."""
        self._stopped = True
        if self._process is None:
            return
        if self._process.poll() is None:
            self._process.send_signal(first)
            try:
                self._process.wait(grace_s)
            except subprocess.TimeoutExpired:
                # The leader is alive, so its group id cannot have been reused.
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(self._process.pid, signal.SIGKILL)
                self._process.wait()

    def log_tail(self, lines: int = 20) -> str:
        """The last lines, and before them the errors above: a server that ends in order says why long before its last
        line."""
        try:
            text = self.log.read_text(errors="replace").splitlines()
        except OSError:
            return ""
        before, tail = text[:-lines], text[-lines:]
        errors = [line for line in before if is_error(line)]
        if len(errors) > 2 * _ERRORS_SHOWN:  # the first may be the reason of all, the last what made it end
            errors = [*errors[:_ERRORS_SHOWN], "...", *errors[-_ERRORS_SHOWN:]]
        return "\n".join([*errors, *(["..."] if errors else []), *tail])


def inherited_environment(security: Security | None, *dropped: str) -> dict[str, str]:
    """Ours, for a server: without these variables, and without the password, which a server has from its files."""
    kind, _, name = ((security.password if security else None) or "").partition(":")
    unwanted = {*dropped, name} if kind == "env" else set(dropped)
    return {name: value for name, value in os.environ.items() if name not in unwanted}


def stop_together(processes: Sequence[ServerProcess], grace_s: float) -> None:
    """All get the signal at once; then each is waited for."""
    for process in processes:
        if process.is_running():
            process.send(signal.SIGTERM)
    for process in processes:
        process.stop(grace_s)
