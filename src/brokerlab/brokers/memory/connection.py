"""The client's end of a connection: frames in, frames out."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from brokerlab.brokers.kit.link import Link
from brokerlab.brokers.memory.protocol import CONTROL, OPEN, REPLY, FrameReader, json_frame, read_json
from brokerlab.errors import BrokerError
from brokerlab.model.plan import Endpoint, Security

CALL_S = 20.0
CONNECT_S = 5.0


class MemoryLink(Link):
    """`on_frame` gets frames that are no answers, while they are read."""

    listener = "a server of this kind"

    def __init__(self, address: str, security: Security | None, name: str, connect_s: float = CONNECT_S) -> None:
        self._reader = FrameReader()
        self._answers: list[bytes] = []
        self.on_frame: Callable[[int, bytes], None] | None = None
        super().__init__(address, security, name, connect_s)

    def _handshake(self, name: str, user: str, password: str, until: float) -> None:
        """None: the first request says what the connection is for."""

    def _take_frames(self) -> None:
        self._reader.feed(bytes(self._buffer))
        self._buffer.clear()
        for kind, body in self._reader.frames():
            if kind == REPLY:
                self._answers.append(body)
            elif self.on_frame is not None:
                self.on_frame(kind, body)

    def call(self, kind: int, request: dict[str, Any]) -> dict[str, Any]:
        """Ask and wait for the answer; what comes meanwhile goes where it always goes."""
        self.write(json_frame(kind, request))
        until = time.monotonic() + CALL_S
        while not self._answers:
            self._read_or_wait(until, "answer")
        return read_json(self._answers.pop(0))

    def subscribe(self, destinations: tuple[str, ...], partitions: int, group: str | None = None) -> None:
        """From now on it may publish to, or (with a group) receives from, these destinations."""
        answer = self.call(OPEN, {"destinations": destinations, "partitions": partitions, "group": group})
        if "error" in answer:
            self.abandon()
            raise BrokerError(answer["error"], hint="create the destination first, with the same number of partitions")


def ask(endpoint: Endpoint, request: dict[str, Any]) -> dict[str, Any]:
    """One control request on a connection of its own. Raises OSError when the server does not answer."""
    link = MemoryLink(endpoint.addresses[0], None, "control")
    try:
        answer = link.call(CONTROL, request)
    finally:
        link.abandon()
    if "error" in answer:
        raise BrokerError(answer["error"])
    return answer
