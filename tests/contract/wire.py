"""A wire between clients and one server that can be cut, stalled or truncated while messages are on it."""

from __future__ import annotations

import contextlib
import re
import selectors
import socket
import struct
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from brokerlab.model.plan import Endpoint

Direction = Literal["to_server", "to_client"]
BOTH: tuple[Direction, ...] = ("to_server", "to_client")
_CHUNK = 1 << 16
_ADDRESS = re.compile(r"127\.0\.0\.1:\d+")
_RESET_ON_CLOSE = struct.pack("ii", 1, 0)


@dataclass(eq=False)
class Way:
    """One direction of one connection: what was read and could not be written yet."""

    direction: Direction
    source: socket.socket
    sink: socket.socket
    pair: list[Way] = field(default_factory=list)
    waiting: bytes = b""
    ended: bool = False


class Wire:
    """A TCP proxy on a loopback port of its own, in a thread of its own. Faults hold until `heal`.

    `target` may be given later than the port is needed: a server that tells clients its address must be told ours.
    """

    def __init__(self, target: str | None = None) -> None:
        self.target = target
        self.passed: dict[Direction, int] = dict.fromkeys(BOTH, 0)  # bytes forwarded so far
        self.is_cut = threading.Event()
        self._stalled: set[Direction] = set()
        self._left: dict[Direction, int] = {}  # bytes still to forward before the cut
        self._ways: list[Way] = []
        self._lock = threading.Lock()
        self._closing = False
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._wake_in, self._wake_out = socket.socketpair()
        for one in (self._listener, self._wake_in):
            one.setblocking(False)
        self._thread = threading.Thread(target=self._run, name="wire", daemon=True)
        self._thread.start()

    def cut(self) -> None:
        """Reset every connection; whoever connects is turned away."""
        with self._lock:
            self._cut(reset=True)
        self._wake()

    def stall(self, directions: Iterable[Direction] = BOTH) -> None:
        """Forward nothing in these directions; connections stay open, and new ones are taken."""
        with self._lock:
            self._stalled.update(directions)
        self._wake()

    def truncate(self, direction: Direction, after_bytes: int) -> None:
        """Forward this many bytes more in that direction, over all connections together; then end them all."""
        with self._lock:
            self._left[direction] = after_bytes
        self._wake()

    def heal(self) -> None:
        """All is well: what was stalled goes on, what was cut may connect again."""
        with self._lock:
            self._stalled.clear()
            self._left.clear()
            self.is_cut.clear()
        self._wake()

    def close(self) -> None:
        """End the thread: nothing passes and nothing is counted after that. Calling it again does nothing."""
        with self._lock:
            if self._closing:
                return
            self._closing = True
        self._wake()
        self._thread.join(30)
        assert not self._thread.is_alive()
        for one in (self._listener, self._wake_in, self._wake_out):
            one.close()

    def _wake(self) -> None:
        self._wake_out.send(b"!")

    def _run(self) -> None:
        while True:
            with self._lock:
                if self._closing:
                    self._cut(reset=True)
                    return
                interests = self._interests()
            with selectors.DefaultSelector() as selector:
                for one, events in interests.items():
                    with contextlib.suppress(ValueError, OSError):  # a cut has closed it meanwhile, and has woken us
                        selector.register(one, events)
                ready = [(key.fileobj, events) for key, events in selector.select()]
            with self._lock:
                self._act({one: events for one, events in ready if isinstance(one, socket.socket)})

    def _interests(self) -> dict[socket.socket, int]:
        wanted = {self._listener: selectors.EVENT_READ, self._wake_in: selectors.EVENT_READ}
        for way in self._ways:
            if way.direction in self._stalled:
                continue
            if way.waiting:
                wanted[way.sink] = wanted.get(way.sink, 0) | selectors.EVENT_WRITE
            elif not way.ended:
                wanted[way.source] = wanted.get(way.source, 0) | selectors.EVENT_READ
        return wanted

    def _act(self, ready: dict[socket.socket, int]) -> None:
        if self._wake_in in ready:
            self._wake_in.recv(_CHUNK)
        if self._listener in ready:
            self._accept()
        for way in list(self._ways):
            if way.direction in self._stalled or way not in self._ways:
                continue
            try:
                if not way.waiting and not way.ended and ready.get(way.source, 0) & selectors.EVENT_READ:
                    self._read(way)
                if way.waiting:
                    self._write(way)
            except BlockingIOError:
                continue
            except OSError:
                self._end([way, *way.pair], reset=True)

    def _accept(self) -> None:
        client, _ = self._listener.accept()
        if self.is_cut.is_set() or self.target is None:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
            client.close()
            return
        host, _, port = self.target.rpartition(":")
        try:
            server = socket.create_connection((host, int(port)), timeout=10)
        except OSError:
            client.close()
            return
        for one in (client, server):
            one.setblocking(False)
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        there, back = Way("to_server", client, server), Way("to_client", server, client)
        there.pair, back.pair = [back], [there]
        self._ways += [there, back]

    def _read(self, way: Way) -> None:
        data = way.source.recv(_CHUNK)
        if data:
            way.waiting = data
            return
        way.ended = True
        with contextlib.suppress(OSError):
            way.sink.shutdown(socket.SHUT_WR)
        if all(other.ended for other in way.pair):
            self._end([way, *way.pair], reset=False)

    def _write(self, way: Way) -> None:
        left = self._left.get(way.direction)
        count = way.sink.send(way.waiting if left is None else way.waiting[:left]) if left != 0 else 0
        way.waiting = way.waiting[count:]
        self.passed[way.direction] += count
        if left is not None:
            self._left[way.direction] = left - count
            if left == count:
                self._cut(reset=False)

    def _cut(self, *, reset: bool) -> None:
        self.is_cut.set()
        self._end(list(self._ways), reset=reset)

    def _end(self, ways: list[Way], *, reset: bool) -> None:
        for way in ways:
            if reset:
                with contextlib.suppress(OSError):
                    way.source.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
            way.source.close()  # every socket is the source of one of the two ways
        self._ways = [way for way in self._ways if way not in ways]


class Wires:
    """Wires before every address of an endpoint, its web addresses included, that break and heal together."""

    def __init__(self, endpoint: Endpoint, known: Wire) -> None:
        """`known` is the wire that stands before one of the addresses already."""
        found = sorted(set(_ADDRESS.findall(endpoint.model_dump_json())) - {known.target})
        self._made = [Wire(address) for address in found]
        self._all = {str(wire.target): wire for wire in (known, *self._made)}
        text = _ADDRESS.sub(lambda match: self._all[match[0]].address, endpoint.model_dump_json())
        self.endpoint = Endpoint.model_validate_json(text)

    def cut(self) -> None:
        for wire in self._all.values():
            wire.cut()

    def heal(self) -> None:
        for wire in self._all.values():
            wire.heal()

    def close(self) -> None:
        """Those that were made here."""
        for wire in self._made:
            wire.close()
