"""The server process: `python -m brokerlab.brokers.memory.server --port N`. One thread, one loop, messages in blocks."""

from __future__ import annotations

import argparse
import contextlib
import select
import selectors
import socket
import time
from typing import Any

import numpy as np

from brokerlab.brokers.memory import protocol
from brokerlab.brokers.memory.protocol import COUNT, POSITION_RANGE, REPLY, ProtocolError, json_frame, read_json
from brokerlab.brokers.memory.session import Batch, Session, decode_publish, deliver_frame, split_by_partition
from brokerlab.brokers.memory.store import Store, UnknownDestinationError
from brokerlab.model.blocks import ACKNOWLEDGED, REJECTED

MOST_UNSENT_BYTES = 1 << 20  # per connection: more waits in the log, not in a buffer
RECEIVE_BYTES = 1 << 18


class Server:
    """Accepts connections and serves them. A subclass may hold messages back: see the first methods."""

    def __init__(self, port: int, retain_bytes: int, limit_bytes: int) -> None:
        self.store: Store[Session] = Store(retain_bytes, limit_bytes)
        self.sessions: dict[int, Session] = {}
        self.received_messages = self.received_bytes = self.sent_messages = self.sent_bytes = 0
        self._listener = socket.create_server(("127.0.0.1", port), backlog=1024)
        self._listener.setblocking(False)
        self._selector = selectors.EpollSelector()
        self._selector.register(self._listener, selectors.EVENT_READ)
        self.port: int = self._listener.getsockname()[1]

    # What a subclass may change.

    def publish(self, session: Session, batch: Batch) -> None:
        """Take a block of messages: store them and settle them."""
        last = batch.first_index + len(batch.lengths) - 1
        full = self.store.is_full()
        if not full:
            self.append(session, batch)
        session.settle(batch.first_index, last, REJECTED if full else ACKNOWLEDGED)

    def backlog(self, session: Session) -> int:
        """Messages accepted that the session's group has not acknowledged."""
        return sum(c.backlog() for c in session.cursors)

    def next_due_ns(self) -> int | None:
        """When `on_time` wants to be called, on the monotonic clock."""
        return None

    def on_time(self, now_ns: int) -> None:
        """Do what is due."""

    def control(self, request: dict[str, Any]) -> dict[str, Any]:
        """Answer one control request."""
        match request.get("do"):
            case "create":
                self.store.create(request["destinations"], request["partitions"], request["groups"])
                return {}
            case "delete":
                self.store.delete(request["destinations"], request["groups"])
                return {}
            case "describe":
                return self.store.describe(request["destinations"])
            case "statistics":
                return self._statistics()
            case other:
                raise ProtocolError(f"no such request: {other!r}")

    # The rest.

    def append(self, session: Session, batch: Batch) -> None:
        """Store messages and let those who wait for them know."""
        self.received_messages += len(batch.lengths)
        self.received_bytes += len(batch.data)
        for number, lengths, data in split_by_partition(batch):
            partition = session.partitions[number]
            partition.append(lengths, data)
            self.store.grew(len(data))
            for cursor in partition.cursors.values():
                if cursor.owner is not None:
                    cursor.owner.ready[cursor] = None

    def run(self) -> None:
        """Serve until the process is ended."""
        while True:
            self.step(self._events())

    def _events(self) -> list[tuple[selectors.SelectorKey, int]]:
        due = self.next_due_ns()
        if due is None:
            return self._selector.select(None)
        wait_s = (due - time.monotonic_ns()) / 1e9
        if wait_s > 0:
            # select() waits with microseconds where epoll_wait() rounds up to milliseconds; an epoll can be selected.
            select.select([self._selector.fileno()], [], [], wait_s)
        return self._selector.select(0)

    def step(self, events: list[tuple[selectors.SelectorKey, int]]) -> None:
        for key, mask in events:
            if key.fileobj is self._listener:
                self._accept()
                continue
            session: Session = key.data
            try:
                if mask & selectors.EVENT_READ:
                    self._read(session)
                if mask & selectors.EVENT_WRITE:
                    session.flush()
            except (OSError, ValueError, KeyError, IndexError) as e:
                # A client's nonsense ends its own connection and nothing else.
                if not isinstance(e, ConnectionError):
                    print(f"connection closed: {type(e).__name__}: {e}", flush=True)
                self._close(session)
        self.on_time(time.monotonic_ns())
        self._serve_consumers()
        for session in list(self.sessions.values()):
            if session.has_output():
                try:
                    session.flush()
                except OSError:
                    self._close(session)
                    continue
            self._watch(session)

    def _accept(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while True:
                connection, _ = self._listener.accept()
                connection.setblocking(False)
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                session = Session(connection)
                self.sessions[connection.fileno()] = session
                self._selector.register(connection, selectors.EVENT_READ, session)

    def _watch(self, session: Session) -> None:
        wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if session.has_output() else 0)
        if wanted != session.watched:
            self._selector.modify(session.socket, wanted, session)
            session.watched = wanted

    def _close(self, session: Session) -> None:
        self.sessions.pop(session.socket.fileno(), None)
        self._selector.unregister(session.socket)
        session.socket.close()
        session.closed = True
        for cursor in session.cursors:
            cursor.leave(session)
        for cursor in session.cursors:
            if cursor.owner is not None:
                cursor.owner.ready[cursor] = None

    def _read(self, session: Session) -> None:
        data = session.socket.recv(RECEIVE_BYTES)
        if not data:
            raise ConnectionResetError
        session.reader.feed(data)
        for kind, body in session.reader.frames():
            self._handle(session, kind, body)

    def _handle(self, session: Session, kind: int, body: bytes) -> None:
        match kind:
            case protocol.PUBLISH:
                batch = decode_publish(body)
                if len(batch.lengths):
                    self.publish(session, batch)
            case protocol.CREDIT:
                session.credit += COUNT.unpack(body)[0]
            case protocol.ACKNOWLEDGE:
                for number, first, last in np.frombuffer(body, POSITION_RANGE).tolist():
                    session.cursors[number].acknowledge(session, first, last)
                self.store.shrink()
            case protocol.OPEN | protocol.CONTROL:
                session.write(json_frame(REPLY, self._answer(session, kind, read_json(body))))
            case _:
                raise ProtocolError(f"no such frame: {kind}")

    def _answer(self, session: Session, kind: int, request: dict[str, Any]) -> dict[str, Any]:
        try:
            if kind == protocol.OPEN:
                self._open(session, request)
                return {}
            if request.get("do") == "backlog":
                return {"backlog": self.backlog(session)}
            return self.control(request)
        except UnknownDestinationError as e:
            return {"error": str(e)}

    def _open(self, session: Session, request: dict[str, Any]) -> None:
        session.partitions = self.store.partitions(request["destinations"], request["partitions"])
        group = request.get("group")
        if group is None:
            return
        session.cursors = [p.cursor(group) for p in session.partitions]
        for number, cursor in enumerate(session.cursors):
            cursor.join(session)
            session.number_of[cursor] = number
            if cursor.owner is not None:
                cursor.owner.ready[cursor] = None

    def _serve_consumers(self) -> None:
        for session in list(self.sessions.values()):
            while session.credit > 0 and session.ready and session.unsent_bytes() < MOST_UNSENT_BYTES:
                count, data = deliver_frame(session)
                if count == 0:
                    break
                session.credit -= count
                self.sent_messages += count
                self.sent_bytes += len(data)
                session.write(data)

    def _statistics(self) -> dict[str, Any]:
        return {
            "connections": len(self.sessions),
            "in_messages_total": self.received_messages,
            "out_messages_total": self.sent_messages,
            "in_bytes_total": self.received_bytes,
            "out_bytes_total": self.sent_bytes,
            "held_messages": self.store.held_messages(),
            "held_bytes": self.store.held_bytes,
        }


def arguments(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """The command line every server of this protocol has."""
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--retain-bytes", type=int, required=True)
    parser.add_argument("--limit-bytes", type=int, required=True)
    return parser


def main() -> None:
    given = arguments(argparse.ArgumentParser(description=__doc__)).parse_args()
    server = Server(given.port, given.retain_bytes, given.limit_bytes)
    print(f"serving on 127.0.0.1:{server.port}", flush=True)
    server.run()


if __name__ == "__main__":
    main()
