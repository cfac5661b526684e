"""One connection in libpq's pipeline mode, stepped by its owner: nothing here blocks except `open_and_wait` and
`wait`, and there is no thread.

What is submitted together is one transaction: PostgreSQL commits it when it reaches the sync behind it, so its fate is
known when that sync is answered, not when its statements are.
"""

from __future__ import annotations

import contextlib
import select
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import psycopg
from psycopg import pq

from brokerlab.brokers.postgresql.connection import CONNECT_S, REFUSALS

RETRY_NS = 200_000_000
_BINARY = 1
_FINE = (pq.ExecStatus.COMMAND_OK, pq.ExecStatus.TUPLES_OK)


@dataclass
class Work:
    """One transaction on its way. `results` has one entry per statement that succeeded."""

    what: object
    results: list[pq.abc.PGresult] = field(default_factory=list)
    sqlstate: str = ""
    severity: str = ""
    said: str = ""
    warned: bool = False  # the server gave up waiting for a standby, or something else it found worth a warning
    lost: bool = False  # the connection ended first: the outcome is unknown

    @property
    def failed(self) -> bool:
        return bool(self.sqlstate)


class Link:
    """A connection that comes back by itself. `ready` says whether something may be submitted."""

    def __init__(
        self, conninfo: str, where: str, statements: Mapping[str, str], *, connect_s: float = CONNECT_S
    ) -> None:
        self._connecting_ns = int(connect_s * 1e9)
        self._conninfo = conninfo.encode()
        self._where = where
        self._statements = dict(statements)
        self._connection: pq.abc.PGconn | None = None
        self._polling = pq.PollingStatus.WRITING
        self._give_up_ns = 0
        self._retry_ns = 0
        self._closed = False
        self._flushed = True
        self._open: deque[Work] = deque()
        self._done: list[Work] = []
        self._setup: Work | None = None
        self.ready = False
        self.last_error = ""
        self.open_and_wait()

    def open_and_wait(self) -> None:
        """Connect and prepare the statements. Raises BrokerError."""
        until = time.monotonic_ns() + self._connecting_ns
        self._begin()
        while not self.ready:
            self.step()
            if self._connection is None or time.monotonic_ns() > until:
                self.close()
                raise REFUSALS.explained(self.last_error or "no answer in time", self._where)
            if not self.ready:
                self.wait(until)

    def _begin(self) -> None:
        self._give_up_ns = time.monotonic_ns() + self._connecting_ns
        self._polling = pq.PollingStatus.WRITING
        self._connection = pq.PGconn.connect_start(self._conninfo)
        if self._connection.status == pq.ConnStatus.BAD:
            self._lose(self._connection.get_error_message())

    def _connect_further(self, connection: pq.abc.PGconn) -> None:
        self._polling = pq.PollingStatus(connection.connect_poll())
        if self._polling == pq.PollingStatus.FAILED:
            self._lose(connection.get_error_message())
        elif self._polling == pq.PollingStatus.OK:
            connection.nonblocking = 1
            connection.notice_handler = self._on_notice
            connection.enter_pipeline_mode()
            self._setup = Work("setup")
            for name, text in self._statements.items():
                connection.send_prepare(name.encode(), text.encode())
            self._sync(connection, self._setup)

    def submit(self, what: object, commands: Sequence[tuple[str, Sequence[bytes]]]) -> Work:
        """One transaction of prepared statements with binary parameters. Only while `ready`."""
        connection = self._connection
        assert connection is not None
        assert self.ready
        work = Work(what)
        try:
            for name, parameters in commands:
                connection.send_query_prepared(
                    name.encode(), list(parameters), param_formats=[_BINARY] * len(parameters), result_format=_BINARY
                )
            self._sync(connection, work)
        except psycopg.OperationalError as e:
            if work not in self._open:
                self._open.append(work)
            self._lose(str(e))
        return work

    def _sync(self, connection: pq.abc.PGconn, work: Work) -> None:
        connection.pipeline_sync()
        self._open.append(work)
        self._flushed = connection.flush() == 0

    def step(self) -> list[Work]:
        """Write and read what is possible now; what has ended since the last call, in order."""
        connection = self._connection
        try:
            if connection is None:
                if not self._closed and time.monotonic_ns() >= self._retry_ns:
                    self._begin()
            elif self._polling != pq.PollingStatus.OK:
                if time.monotonic_ns() > self._give_up_ns:
                    self._lose("connecting took too long")
                elif self._socket_ready(connection, 0):
                    self._connect_further(connection)
            elif self._open or self._socket_ready(connection, 0):
                self._exchange(connection)
        except psycopg.OperationalError as e:
            self._lose(str(e))
        done, self._done = self._done, []
        return done

    def _exchange(self, connection: pq.abc.PGconn) -> None:
        self._flushed = connection.flush() == 0
        connection.consume_input()
        ended = False  # the results of a statement end with one None; a second in a row: nothing more for now
        while not connection.is_busy():
            result = connection.get_result()
            if connection.status == pq.ConnStatus.BAD:
                self._lose(connection.get_error_message())
                return
            if result is None:
                if ended:
                    return
                ended = True
                continue
            ended = False
            self._note(result)

    def _note(self, result: pq.abc.PGresult) -> None:
        work = self._open[0]
        if result.status == pq.ExecStatus.PIPELINE_SYNC:
            self._open.popleft()
            if work is self._setup:
                self._end_setup(work)
            else:
                self._done.append(work)
        elif result.status in _FINE:
            work.results.append(result)
        elif result.status != pq.ExecStatus.PIPELINE_ABORTED and not work.failed:
            work.sqlstate = _field(result, pq.DiagnosticField.SQLSTATE) or "?????"
            work.severity = _field(result, pq.DiagnosticField.SEVERITY_NONLOCALIZED)
            work.said = _field(result, pq.DiagnosticField.MESSAGE_PRIMARY)

    def _end_setup(self, work: Work) -> None:
        self._setup = None
        if work.failed:
            self._lose(f"{work.sqlstate} {work.said}")
        else:
            self.ready = True

    def _on_notice(self, notice: pq.abc.PGresult) -> None:
        if self._open and _field(notice, pq.DiagnosticField.SEVERITY_NONLOCALIZED) == "WARNING":
            self._open[0].warned = True
            self._open[0].said = _field(notice, pq.DiagnosticField.MESSAGE_PRIMARY)

    def _lose(self, said: str) -> None:
        self.last_error = " ".join(said.split())
        self.ready = False
        self._retry_ns = time.monotonic_ns() + RETRY_NS
        if self._connection is not None:
            self._connection.finish()
            self._connection = None
        for work in self._open:
            work.lost = True
            if work is not self._setup:
                self._done.append(work)
        self._open.clear()
        self._setup = None

    def _socket_ready(self, connection: pq.abc.PGconn, seconds: float) -> bool:
        """Whether there is something to read, or to write where something waits to be written."""
        number = connection.socket
        poll = select.poll()  # not select(): file numbers may be above 1024
        writing = not self._flushed or self._polling == pq.PollingStatus.WRITING
        poll.register(number, select.POLLIN | (select.POLLOUT if writing else 0))
        return bool(poll.poll(max(0, int(seconds * 1000 + 0.999))))

    def watched(self) -> list[tuple[int, bool]]:
        """The socket, if there is one, and whether something waits to be written to it."""
        connection = self._connection
        return [] if connection is None or not self.ready else [(connection.socket, not self._flushed)]

    def wait(self, deadline_mono_ns: int) -> None:
        """Until there is something to do for `step`, or the deadline."""
        seconds = (deadline_mono_ns - time.monotonic_ns()) / 1e9
        if seconds <= 0:
            return
        if self._connection is None:
            time.sleep(min(seconds, RETRY_NS / 1e9))
            return
        with contextlib.suppress(psycopg.OperationalError):
            self._socket_ready(self._connection, seconds)

    def idle(self) -> bool:
        """Nothing is on its way."""
        return not self._open

    def close(self) -> None:
        """Disconnect at once. Idempotent."""
        self._closed = True
        self._lose("closed")


def _field(result: pq.abc.PGresult, which: pq.DiagnosticField) -> str:
    return (result.error_field(which) or b"").decode(errors="replace")
