"""A connection of RabbitMQ's stream protocol.

A frame: size of what follows (4 bytes), key (2), version (2), and for requests and their answers a correlation number
(4); answers have the highest bit of the key set and begin with a response code (2).
"""

from __future__ import annotations

import contextlib
import struct
import time
from collections.abc import Callable

from brokerlab.brokers.kit.link import CALL_S, CONNECT_S, Link, RefusedError, reading_frames
from brokerlab.brokers.kit.wire import addresses_from
from brokerlab.brokers.rabbitmq.names import GUEST, HEARTBEAT_S
from brokerlab.brokers.rabbitmq.outcomes import STREAM_CODES
from brokerlab.errors import BrokerError
from brokerlab.model.plan import Endpoint, Security

PATH = "python (RabbitMQ stream protocol, frames made in blocks)"
FRAME_MAX = 1 << 20
MOST_FRAME_BYTES = 1 << 27  # of what a server sends: chunks may be larger than what is agreed on
OK, NOT_AVAILABLE, AUTHENTICATION_FAILURE, NO_OFFSET = 1, 6, 8, 19

DECLARE_PUBLISHER, PUBLISH, PUBLISH_CONFIRM, PUBLISH_ERROR = 1, 2, 3, 4
SUBSCRIBE, DELIVER, CREDIT, STORE_OFFSET, QUERY_OFFSET, UNSUBSCRIBE = 7, 8, 9, 10, 11, 12
METADATA_UPDATE, PEER_PROPERTIES, SASL_HANDSHAKE, SASL_AUTHENTICATE = 16, 17, 18, 19
TUNE, OPEN, CLOSE, HEARTBEAT, STREAM_STATS = 20, 21, 22, 23, 28
_ANSWER = 0x8000


class StreamRefusedError(RefusedError):
    """The server answered with a code that is not OK."""

    def __init__(self, what: str, code: int) -> None:
        name = STREAM_CODES.get(code, ("unknown code", 0))[0]
        super().__init__(f"{what}: {code} {name}", code, not_yet=code == NOT_AVAILABLE)


def text(value: str) -> bytes:
    """A string as the protocol writes it."""
    data = value.encode()
    return struct.pack(">H", len(data)) + data


class StreamLink(Link):
    """`on_frame` gets the key and the content of frames that are no answers, while they are read."""

    listener = "RabbitMQ's stream listener"
    wrong_password = AUTHENTICATION_FAILURE
    anonymous = GUEST
    heartbeat_s = HEARTBEAT_S

    def __init__(self, address: str, security: Security | None, name: str, connect_s: float = CONNECT_S) -> None:
        self._answers: dict[int, bytes] = {}
        self._correlation = 0
        self._tuned = False
        self.on_frame: Callable[[int, bytes], None] | None = None
        super().__init__(address, security, name, connect_s)

    @staticmethod
    def addresses(endpoint: Endpoint, first: int) -> list[str]:
        known = addresses_from(endpoint, first, "stream")
        if not known:
            raise BrokerError(
                "no address of the stream listener is known",
                hint="--endpoint rabbitmq-stream.stream=HOST:PORT gives it",
            )
        return known

    def _handshake(self, name: str, user: str, password: str, until: float) -> None:
        properties = {"product": "brokerlab", "connection_name": name}
        packed = struct.pack(">I", len(properties)) + b"".join(text(k) + text(v) for k, v in properties.items())
        self._ask(PEER_PROPERTIES, packed, until)
        self._ask(SASL_HANDSHAKE, b"", until)
        secret = f"\0{user}\0{password}".encode()
        self._ask(SASL_AUTHENTICATE, text("PLAIN") + struct.pack(">I", len(secret)) + secret, until)
        while not self._tuned:
            self._read_or_wait(until, "answer")
        self._ask(OPEN, text("/"), until)

    def call(self, key: int, content: bytes, seconds: float = CALL_S) -> bytes:
        """The content of the answer behind its code. Raises StreamRefusedError when the code is not OK."""
        return self._ask(key, content, time.monotonic() + seconds)

    def _ask(self, key: int, content: bytes, until: float) -> bytes:
        self._correlation += 1
        number = self._correlation
        self.send(key, struct.pack(">I", number) + content)
        while number not in self._answers:
            self._read_or_wait(until, "answer")
        answer = self._answers.pop(number)
        (code,) = struct.unpack_from(">H", answer)
        if code != OK:
            raise StreamRefusedError(f"request {key}", code)
        return answer[2:]

    def send(self, key: int, content: bytes) -> None:
        """One frame for which no answer is awaited here."""
        self.write(struct.pack(">IHH", 4 + len(content), key, 1) + content)

    def _send_heartbeat(self) -> None:
        self.send(HEARTBEAT, b"")

    def _take_frames(self) -> None:
        with reading_frames():
            self._take_whole_frames()

    def _take_whole_frames(self) -> None:
        at, size = 0, len(self._buffer)
        while at + 8 <= size:
            length = int.from_bytes(self._buffer[at : at + 4])
            if not 4 <= length <= MOST_FRAME_BYTES:
                raise OSError("unreadable frame: its size cannot be")
            if at + 4 + length > size:
                break
            key = int.from_bytes(self._buffer[at + 4 : at + 6])
            content = bytes(memoryview(self._buffer)[at + 8 : at + 4 + length])
            at += 4 + length
            self._on_frame(key, content)
        del self._buffer[:at]

    def _on_frame(self, key: int, content: bytes) -> None:
        if key == CLOSE:
            number, code = struct.unpack_from(">IH", content)
            with contextlib.suppress(OSError):
                self.send(CLOSE | _ANSWER, struct.pack(">IH", number, OK))
            raise StreamRefusedError("the server closed the connection", code)
        if key == TUNE:
            self.frame_max = min(FRAME_MAX, struct.unpack_from(">I", content)[0] or FRAME_MAX)
            self.send(TUNE, struct.pack(">II", self.frame_max, HEARTBEAT_S))
            self._tuned = True
        elif key & _ANSWER and key & ~_ANSWER != CREDIT:  # credit is answered only to complain, without a number
            number, _ = struct.unpack_from(">IH", content)
            self._answers[number] = content[4:]
        elif key != HEARTBEAT and self.on_frame is not None:
            self.on_frame(key, content)

    def _say_goodbye(self, until: float) -> None:
        self.on_frame = None
        self._ask(CLOSE, struct.pack(">H", OK) + text("done"), until)
