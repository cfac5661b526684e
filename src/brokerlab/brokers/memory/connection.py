"""The client's end of a connection: a non-blocking socket, frames in, frames out."""

from __future__ import annotations

import socket
import time
from typing import Any

from brokerlab.brokers.kit.sockets import wait_ready
from brokerlab.brokers.memory.protocol import CONTROL, OPEN, REPLY, FrameReader, json_frame, read_json
from brokerlab.errors import BrokerError
from brokerlab.model.plan import Endpoint

RECEIVE_BYTES = 1 << 18
CALL_S = 20.0


class Connection:
    """One connection. Every method raises OSError once it is lost; make a new one then."""

    def __init__(self, endpoint: Endpoint, connect_s: float = 5.0) -> None:
        host, _, port = endpoint.addresses[0].rpartition(":")
        self._socket = socket.create_connection((host, int(port)), connect_s)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket.setblocking(False)
        self._reader = FrameReader()
        self._out = bytearray()
        self._inbox: list[tuple[int, bytes]] = []

    def write(self, data: bytes) -> None:
        """Send what the socket takes; the rest with the next `flush`."""
        if self._out:
            self._out += data
            self.flush()
            return
        try:
            sent = self._socket.send(data)
        except BlockingIOError:
            sent = 0
        if sent < len(data):
            self._out += memoryview(data)[sent:]

    def flush(self) -> bool:
        """Whether everything written has gone to the socket."""
        while self._out:
            try:
                sent = self._socket.send(self._out)
            except BlockingIOError:
                return False
            del self._out[:sent]
        return True

    def frames(self) -> list[tuple[int, bytes]]:
        """Frames that have come, without waiting; one read only, so that a chunk stays small and its time honest."""
        self.flush()
        self._read()
        frames, self._inbox = self._inbox, []
        return frames

    def _read(self) -> None:
        try:
            data = self._socket.recv(RECEIVE_BYTES)
        except BlockingIOError:
            return
        if not data:
            raise ConnectionResetError("the server closed the connection")
        self._reader.feed(data)
        self._inbox += self._reader.frames()

    def watched(self) -> tuple[int, bool]:
        """The socket's number, and whether something waits to be written to it."""
        return self._socket.fileno(), bool(self._out)

    def wait(self, seconds: float) -> None:
        """Until something can be read (or what is unsent can be written), `seconds` at most."""
        wait_ready(self._socket, seconds, unsent=bool(self._out))

    def call(self, kind: int, request: dict[str, Any]) -> dict[str, Any]:
        """Ask and wait for the answer; frames of other kinds that come meanwhile are kept for `frames`."""
        self.write(json_frame(kind, request))
        deadline = time.monotonic() + CALL_S
        while time.monotonic() < deadline:
            self.flush()
            for at, (answer, body) in enumerate(self._inbox):
                if answer == REPLY:
                    del self._inbox[at]
                    return read_json(body)
            self.wait(deadline - time.monotonic())
            self._read()
        raise TimeoutError(f"no answer within {CALL_S:.0f} s")

    def close(self) -> None:
        self._socket.close()


def connect(
    endpoint: Endpoint, destinations: tuple[str, ...], partitions: int, group: str | None = None, connect_s: float = 5.0
) -> Connection:
    """A connection that may publish to, or (with a group) receives from, these destinations."""
    try:
        connection = Connection(endpoint, connect_s)
    except OSError as e:
        raise BrokerError(f"cannot connect to {endpoint.addresses[0]}: {e}", hint="is the server running?") from e
    request = {"destinations": destinations, "partitions": partitions, "group": group}
    try:
        answer = connection.call(OPEN, request)
    except OSError as e:
        connection.close()
        raise BrokerError(f"{endpoint.addresses[0]} did not answer: {e}", hint="is it a server of this kind?") from e
    if "error" in answer:
        connection.close()
        raise BrokerError(answer["error"], hint="create the destination first, with the same number of partitions")
    return connection


def ask(endpoint: Endpoint, request: dict[str, Any]) -> dict[str, Any]:
    """One control request on a connection of its own. Raises OSError when the server does not answer."""
    connection = Connection(endpoint)
    try:
        answer = connection.call(CONTROL, request)
    finally:
        connection.close()
    if "error" in answer:
        raise BrokerError(answer["error"])
    return answer
