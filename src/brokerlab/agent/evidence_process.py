"""Evidence leaves the agent through a pipe to a process of its own, so that writing never disturbs sending.

The writer also outlives an agent that is killed: it sees the pipe end, writes what it has, and ends. A frame on the
pipe is a length and a pickled (table, columns); the columns every row shares are added on the other side.
"""

from __future__ import annotations

import contextlib
import errno
import os
import pickle
import struct
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

from brokerlab.errors import AgentError, DiskFullError, ExitCode
from brokerlab.evidence.anchor import held, hold
from brokerlab.evidence.background import give_way

SEGMENT_S = 2.0
_LENGTH = struct.Struct("<Q")


class EvidencePipe:
    """The agent's end: nothing here blocks before `close`; what the pipe cannot take waits in memory."""

    def __init__(self, directory: Path, agent: str, constants: Mapping[str, Any], attempt: int = 1) -> None:
        descriptor = hold(directory)  # here, not there: the writer needs a second to import what it writes with
        self._process = subprocess.Popen(
            [sys.executable, "-m", "brokerlab.agent.evidence_process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pass_fds=(descriptor,),
        )
        os.close(descriptor)
        assert self._process.stdin is not None
        self._fd = self._process.stdin.fileno()
        self._waiting = bytearray()
        self._frame((descriptor, agent, dict(constants), attempt))
        self.push()
        os.set_blocking(self._fd, False)

    @property
    def pid(self) -> int:
        return self._process.pid

    def wait_ready(self) -> None:
        """Until the writer has imported what it writes with: that second of CPU belongs before the load."""
        assert self._process.stdout is not None
        if not self._process.stdout.read(1):
            self._raise(self._process.wait())
        self._process.stdout.close()

    def put(self, table: str, columns: Mapping[str, Any]) -> None:
        """Rows of one table as columns, without the ones every row shares. They leave with the next `push`."""
        self._frame((table, dict(columns)))

    def _frame(self, value: object) -> None:
        body = pickle.dumps(value, protocol=5)
        self._waiting += _LENGTH.pack(len(body)) + body

    def push(self) -> None:
        """Write as much as the pipe takes now. Raises when the writer is gone: DiskFullError if that was why."""
        try:
            while self._waiting:
                written = os.write(self._fd, self._waiting)
                del self._waiting[:written]
        except BlockingIOError:
            return
        except BrokenPipeError:
            self._raise(self._process.wait())

    def close(self) -> None:
        """Send the rest and wait until all of it is on disk."""
        os.set_blocking(self._fd, True)
        self.push()
        assert self._process.stdin is not None
        self._process.stdin.close()
        code = self._process.wait()
        if code:
            self._raise(code)

    def _raise(self, code: int) -> None:
        if code == ExitCode.MACHINE:
            raise DiskFullError(
                "no space left for evidence",
                hint="free some space and run the same command again: finished executions are kept",
            )
        raise AgentError(f"the process that writes evidence ended with code {code}")


def _read_frame(stream: BinaryIO) -> Any:
    """The next frame, or None at the end or where the agent died in the middle of one."""
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    size = _LENGTH.unpack(head)[0]
    body = stream.read(size)
    return pickle.loads(body) if len(body) == size else None


def write_evidence(stream: BinaryIO) -> None:
    """Write frames as segments until the stream ends. Raises DiskFullError; earlier segments stay whole."""
    from brokerlab.evidence.tables import EVIDENCE_TABLES
    from brokerlab.evidence.writer import SegmentWriter

    sys.stdout.write(".")  # ready: see EvidencePipe.wait_ready
    sys.stdout.close()
    opening = _read_frame(stream)
    if opening is None:
        return
    descriptor, agent, constants, attempt = opening
    writers: dict[str, SegmentWriter] = {}
    flushed = time.monotonic()
    while (frame := _read_frame(stream)) is not None:
        name, columns = frame
        n = len(next(iter(columns.values())))
        table = EVIDENCE_TABLES[name]
        shared = {c: [v] * n for c, v in constants.items() if c in table.names() and c not in columns}
        if name not in writers:
            writers[name] = SegmentWriter(held(descriptor), agent, table, attempt)
        writers[name].add({**columns, **shared})
        if time.monotonic() - flushed >= SEGMENT_S:
            for writer in writers.values():
                writer.flush()
            flushed = time.monotonic()
    for writer in writers.values():
        writer.close()


if __name__ == "__main__":
    import signal

    for ignored in (signal.SIGINT, signal.SIGTERM):
        signal.signal(ignored, signal.SIG_IGN)  # the end of the pipe is the only way to end: nothing is lost
    give_way()
    try:
        write_evidence(sys.stdin.buffer)
    except (DiskFullError, OSError) as e:
        full = isinstance(e, DiskFullError) or e.errno in (errno.ENOSPC, errno.EDQUOT)
        with contextlib.suppress(OSError):  # the log is on the same disk
            sys.stderr.write(f"{e}\n")
        os._exit(ExitCode.MACHINE if full else 1)  # without flushing stderr again, which would fail and change the code
