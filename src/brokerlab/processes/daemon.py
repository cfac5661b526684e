"""A cluster that outlives the command that started it: a supervisor process that holds it, asked through a socket.

<directory>/<name>.lock     held (flock) by the supervisor as long as it lives; stays, empty, because deleting a lock races
<directory>/<name>.sock     one JSON line in, one out: {"ask": "status"} or {"ask": "stop"}
<directory>/<name>/         data and logs; deleted when the cluster is stopped or does not start

No process is ever signalled by a number read from a file: a stale file is just a file.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, Protocol, runtime_checkable

from brokerlab.errors import BrokerError, BrokerlabError, BusyError, MachineError, UserError
from brokerlab.model.plan import Endpoint

Facts = dict[str, Any]
_LOOK_AFTER_EVERY_S = 1.0


class HeldNode(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def pid(self) -> int: ...


class HeldCluster(Protocol):
    """What of a cluster a supervisor needs; `brokers.contract.Cluster` has it all."""

    def start(self) -> None: ...
    def wait_ready(self, deadline_mono_ns: int) -> None: ...
    def endpoint(self) -> Endpoint: ...
    def nodes(self) -> Sequence[HeldNode]: ...
    def dead_nodes(self) -> tuple[str, ...]: ...
    def stop(self) -> None: ...
    def clean(self) -> None: ...


@runtime_checkable
class LookedAfter(Protocol):
    """A held cluster that mends itself: its supervisor calls `look_after` every second, from the thread that started the
    processes, as their lives end with it. `more_facts` is added to the status."""

    def look_after(self) -> None: ...
    def more_facts(self) -> Facts: ...


ClusterFactory = Callable[[Path, Path], HeldCluster]  # (data directory, log directory)


@contextlib.contextmanager
def _short_path(path: Path) -> Iterator[str]:
    """A name for a socket of any depth: the kernel takes 107 bytes only, so the directory goes by its descriptor."""
    descriptor = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{descriptor}/{path.name}"
    finally:
        os.close(descriptor)


def ask(directory: Path, name: str, question: str, timeout_s: float = 120.0) -> Facts | None:
    """The supervisor's answer; None when nothing is up under this name."""
    path = directory / f"{name}.sock"
    if not path.exists():
        return None
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(timeout_s)
        try:
            with _short_path(path) as short:
                s.connect(short)
            s.sendall(json.dumps({"ask": question}).encode() + b"\n")
            line = s.makefile().readline()
        except (ConnectionError, FileNotFoundError):  # left by a supervisor that was killed
            return None
        except TimeoutError:
            raise MachineError(f"the supervisor of {name} does not answer", hint=f"see {directory / name}") from None
    return dict(json.loads(line)) if line else None


def start(directory: Path, name: str, command: Sequence[str], plan: Facts) -> Facts:
    """Start a supervisor with `command`, give it `plan`, and wait until its cluster is ready. Its status, or the error
    that kept it from starting; then nothing of it is left."""
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    with subprocess.Popen(
        list(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            _say(process.stdin, plan)
            line = process.stdout.readline()
            if not line:
                said = process.stderr.read().decode(errors="replace").strip().splitlines()
                raise MachineError(f"the supervisor of {name} ended: {said[-1] if said else 'it printed nothing'}")
            answer: Facts = json.loads(line)
            if "error" not in answer:
                _say(process.stdin, {"keep": True})
                process.returncode = 0  # it lives on: leaving this block must not wait for it
                return answer
            process.wait()
        except BaseException:
            if process.returncode is None:
                process.terminate()
                process.wait()
            raise
    raise _error_from(answer)


def _say(stream: IO[bytes], value: Facts) -> None:
    stream.write(json.dumps(value).encode() + b"\n")
    stream.flush()


def _error_from(answer: Facts) -> BrokerlabError:
    kinds: dict[int, type[BrokerlabError]] = {2: UserError, 3: MachineError, 4: BrokerError}
    return kinds.get(answer["exit_code"], MachineError)(answer["error"], hint=answer["hint"])


class Supervisor:
    """Holds one cluster from start to stop. Runs in the main thread of its own process."""

    def __init__(self, directory: Path, name: str, facts: Facts) -> None:
        self._name = name
        self._facts = facts
        self._home = directory / name
        self._socket_file = directory / f"{name}.sock"
        self._lock_file = directory / f"{name}.lock"
        self._started_unix_s = time.time()
        self._cluster: HeldCluster | None = None

    def run(self, make: ClusterFactory, ready_within_s: float) -> None:
        """Start the cluster, tell our parent on stdout, then answer until told to stop."""
        with self._lock_file.open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise BusyError(
                    f"{self._name} is already up or starting", hint=f"brokerlab status {self._name}"
                ) from None
            self._socket_file.unlink(missing_ok=True)
            shutil.rmtree(self._home, ignore_errors=True)
            try:
                self._serve(make, ready_within_s)
            finally:
                self._take_down()

    def _serve(self, make: ClusterFactory, ready_within_s: float) -> None:
        self._cluster = make(self._home / "data", self._home / "logs")
        self._cluster.start()
        self._cluster.wait_ready(time.monotonic_ns() + int(ready_within_s * 1e9))
        with socket.socket(socket.AF_UNIX) as listener:
            with _short_path(self._socket_file) as short:
                listener.bind(short)
            listener.listen()
            print(json.dumps(self.status()), flush=True)
            if not sys.stdin.buffer.readline():  # the command that wanted us has gone in the meantime
                return
            _leave_parent()
            while self._answer_one(listener):
                pass

    def _asked(self, listener: socket.socket) -> socket.socket:
        """The next connection; until it comes, a cluster that mends itself is given the time to."""
        if not isinstance(self._cluster, LookedAfter):
            return listener.accept()[0]
        while not select.select([listener], [], [], _LOOK_AFTER_EVERY_S)[0]:
            self._cluster.look_after()
        self._cluster.look_after()  # a question a moment must not keep it from its work
        return listener.accept()[0]

    def _answer_one(self, listener: socket.socket) -> bool:
        """Answer one question; False when it was to stop."""
        with self._asked(listener) as connection, contextlib.suppress(OSError, ValueError):
            connection.settimeout(5)
            question = json.loads(connection.makefile().readline())["ask"]
            stopping = question == "stop"
            answer = self.status()
            if stopping:
                self._take_down()
                answer["state"] = "stopped"
            connection.sendall(json.dumps(answer).encode() + b"\n")
            return not stopping
        return True

    def status(self) -> Facts:
        assert self._cluster is not None
        dead = self._cluster.dead_nodes()
        endpoint = self._cluster.endpoint()
        security = None if endpoint.security is None else endpoint.security.model_dump(exclude_none=True)
        return {
            "broker": self._name,
            "state": "running" if not dead else "degraded",
            "endpoint": list(endpoint.addresses),
            "endpoint_options": endpoint.options,
            "security": security,  # a password's reference, never its value
            "nodes": [
                {"name": n.name, "pid": n.pid, "dead": n.name in dead, "urls": getattr(n, "urls", {})}
                for n in self._cluster.nodes()
            ],
            "supervisor_pid": os.getpid(),
            "uptime_s": round(time.time() - self._started_unix_s, 1),
            "directory": str(self._home),
            **self._facts,
            **(self._cluster.more_facts() if isinstance(self._cluster, LookedAfter) else {}),
        }

    def _take_down(self) -> None:
        """Stop, clean, and leave nothing behind. Idempotent."""
        if self._cluster is not None:
            self._cluster.stop()
            self._cluster.clean()
        self._socket_file.unlink(missing_ok=True)
        shutil.rmtree(self._home, ignore_errors=True)


def _leave_parent() -> None:
    """Let go of the pipes to the command that started us, so that it does not wait for their end."""
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    os.close(null)


def supervise(directory: Path, name: str, facts: Facts, make: ClusterFactory, ready_within_s: float) -> int:
    """Body of a supervisor process. SIGTERM stops it in order; an error goes to the parent as one JSON line."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        Supervisor(directory, name, facts).run(make, ready_within_s)
    except BrokerlabError as e:
        print(json.dumps({"error": e.message, "hint": e.hint, "exit_code": int(e.exit_code)}), flush=True)
        return int(e.exit_code)
    return 0
