"""Lines to a carbon: `path value second`. One that is slow or gone loses points, which are counted; nothing waits for it."""

from __future__ import annotations

import socket
import threading
import time
from collections import deque
from collections.abc import Iterable

from brokerlab.monitor.exports import Export
from brokerlab.monitor.series import Point
from brokerlab.monitor.table import graphite_path

MOST_LINES = 50_000  # kept while a carbon does not take them; beyond that the oldest are lost
_CONNECT_S = 2.0
_AGAIN_S = 1.0  # from a failure to the next attempt
_AT_ONCE = 500  # lines of one write


def line_of(point: Point) -> bytes:
    path = graphite_path(point.subject, point.row)
    if point.name:
        path = f"{path.removesuffix('_seconds')}{point.name}_seconds"
    return f"{path} {point.value!r} {point.unix_s}\n".encode()


class GraphiteSender(threading.Thread):
    """Sends what `put` is given. A write that fails half-way is counted as lost: carbon may have some of its lines."""

    def __init__(self, export: Export) -> None:
        super().__init__(name=f"graphite-{export.words}", daemon=True)
        self.words = export.words
        self._address = (export.host, export.port)
        self._waiting: deque[bytes] = deque()
        self._wake = threading.Condition()
        self._ended = False
        self._connection: socket.socket | None = None
        self.sent = 0
        self.lost = 0
        self.problem: str | None = None  # the last one

    def put(self, points: Iterable[Point]) -> None:
        """Never waits."""
        with self._wake:
            self._waiting.extend(map(line_of, points))
            while len(self._waiting) > MOST_LINES:
                self._waiting.popleft()
                self.lost += 1
            self._wake.notify()

    def run(self) -> None:
        while True:
            with self._wake:
                while not self._waiting and not self._ended:
                    self._wake.wait()
                if self._ended and (not self._waiting or self.problem is not None):
                    break
                lines = [self._waiting.popleft() for _ in range(min(_AT_ONCE, len(self._waiting)))]
            self._send(lines)
        self._close()

    def end(self, within_s: float) -> None:
        """Send what waits, if the carbon takes it soon; the rest is lost."""
        with self._wake:
            self._ended = True
            self._wake.notify()
        self.join(within_s)
        with self._wake:
            self.lost += len(self._waiting)
            self._waiting.clear()

    def _send(self, lines: list[bytes]) -> None:
        try:
            if self._connection is None:
                self._connection = socket.create_connection(self._address, _CONNECT_S)
        except OSError as error:
            self.problem = str(error)
            with self._wake:
                self._waiting.extendleft(reversed(lines))
                self._wake.wait_for(lambda: self._ended, _AGAIN_S)
            return
        try:
            self._connection.sendall(b"".join(lines))
            self.sent += len(lines)
            self.problem = None
        except OSError as error:
            self.problem = str(error)
            with self._wake:
                self.lost += len(lines)
            self._close()
            time.sleep(0 if self._ended else _AGAIN_S)

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None
