"""A connection of RabbitMQ's stream protocol.

A frame: size of what follows (4 bytes), key (2), version (2), and for requests and their answers a correlation number
(4); answers have the highest bit of the key set and begin with a response code (2).
"""

from __future__ import annotations

import contextlib
import struct
import time
from collections.abc import Callable

from brokerlab.brokers.rabbitmq.outcomes import STREAM_CODES
from brokerlab.brokers.rabbitmq.wire import Wire, addresses_from, credentials
from brokerlab.errors import BrokerError
from brokerlab.model.plan import Endpoint, Security

PATH = "python (RabbitMQ stream protocol, frames made in blocks)"
CONNECT_S = 10.0
CALL_S = 30.0
FRAME_MAX = 1 << 20
HEARTBEAT_S = 30
OK, NO_OFFSET, AUTHENTICATION_FAILURE = 1, 19, 8

DECLARE_PUBLISHER, PUBLISH, PUBLISH_CONFIRM, PUBLISH_ERROR = 1, 2, 3, 4
SUBSCRIBE, DELIVER, CREDIT, STORE_OFFSET, QUERY_OFFSET, UNSUBSCRIBE = 7, 8, 9, 10, 11, 12
METADATA_UPDATE, PEER_PROPERTIES, SASL_HANDSHAKE, SASL_AUTHENTICATE = 16, 17, 18, 19
TUNE, OPEN, CLOSE, HEARTBEAT, STREAM_STATS = 20, 21, 22, 23, 28
_ANSWER = 0x8000


class StreamRefusedError(OSError):
    """The server answered with a code that is not OK."""

    def __init__(self, what: str, code: int) -> None:
        name = STREAM_CODES.get(code, ("code nobody knows", 0))[0]
        super().__init__(f"{what}: {code} {name}")
        self.code = code


def text(value: str) -> bytes:
    """A string as the protocol writes it."""
    data = value.encode()
    return struct.pack(">H", len(data)) + data


class StreamLink:
    """Connected and authenticated when the constructor returns. Methods raise OSError once it is lost.

    `on_frame` gets the key and the content of frames that are no answers, while they are read.
    """

    def __init__(self, address: str, security: Security | None, name: str, connect_s: float = CONNECT_S) -> None:
        self._buffer = bytearray()
        self._answers: dict[int, bytes] = {}
        self._correlation = 0
        self._tuned = False
        self.on_frame: Callable[[int, bytes], None] | None = None
        self._last_write = self._last_read = time.monotonic()
        until = time.monotonic() + connect_s
        self._wire = Wire(address, security, connect_s)
        try:
            self._handshake(name, *credentials(security), until)
        except OSError:
            self._wire.close()
            raise

    def _handshake(self, name: str, user: str, password: str, until: float) -> None:
        properties = {"product": "brokerlab", "connection_name": name}
        told = struct.pack(">I", len(properties)) + b"".join(text(k) + text(v) for k, v in properties.items())
        self._ask(PEER_PROPERTIES, told, until)
        self._ask(SASL_HANDSHAKE, b"", until)
        secret = f"\0{user}\0{password}".encode()
        self._ask(SASL_AUTHENTICATE, text("PLAIN") + struct.pack(">I", len(secret)) + secret, until)
        while not self._tuned:
            self._read_or_wait(until)
        self._ask(OPEN, text("/"), until)

    @property
    def unsent_bytes(self) -> int:
        return self._wire.unsent_bytes

    def call(self, key: int, content: bytes, seconds: float = CALL_S) -> bytes:
        """The content of the answer behind its code. Raises StreamRefusedError when the code is not OK."""
        return self._ask(key, content, time.monotonic() + seconds)

    def _ask(self, key: int, content: bytes, until: float) -> bytes:
        self._correlation += 1
        number = self._correlation
        self.send(key, struct.pack(">I", number) + content)
        while number not in self._answers:
            self._read_or_wait(until)
        answer = self._answers.pop(number)
        (code,) = struct.unpack_from(">H", answer)
        if code != OK:
            raise StreamRefusedError(f"request {key}", code)
        return answer[2:]

    def _read_or_wait(self, until: float) -> None:
        left = until - time.monotonic()
        if left <= 0:
            raise TimeoutError("no answer from the server in time")
        self._wire.flush()
        if not self._read():
            self._wire.wait(min(left, 1.0))

    def send(self, key: int, content: bytes) -> None:
        """One frame for which no answer is awaited here."""
        self.write(struct.pack(">IHH", 4 + len(content), key, 1) + content)

    def write(self, data: bytes) -> None:
        """Frames that are made already."""
        self._last_write = time.monotonic()
        self._wire.write(data)

    def pump(self) -> bool:
        """Read once without waiting, send what is unsent, keep the heartbeat. Whether anything came."""
        self._wire.flush()
        came = self._read()
        now = time.monotonic()
        if not came and now - self._last_read > 2 * HEARTBEAT_S:
            raise TimeoutError("the server has been silent for two heartbeats")
        if now - self._last_write > HEARTBEAT_S / 2:
            self.send(HEARTBEAT, b"")
        return came

    def wait(self, seconds: float) -> None:
        self._wire.wait(seconds)

    def _read(self) -> bool:
        data = self._wire.read()
        if not data:
            return False
        self._last_read = time.monotonic()
        self._buffer += data
        at, size = 0, len(self._buffer)
        while at + 8 <= size:
            length = int.from_bytes(self._buffer[at : at + 4])
            if at + 4 + length > size:
                break
            key = int.from_bytes(self._buffer[at + 4 : at + 6])
            content = bytes(memoryview(self._buffer)[at + 8 : at + 4 + length])
            at += 4 + length
            self._on_frame(key, content)
        del self._buffer[:at]
        return True

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
            self._answers[struct.unpack_from(">I", content)[0]] = content[4:]
        elif key != HEARTBEAT and self.on_frame is not None:
            self.on_frame(key, content)

    def close(self, deadline_mono_ns: int) -> None:
        """Say goodbye and wait for the answer, at the deadline at the latest. Idempotent."""
        self.on_frame = None
        until = min(time.monotonic() + 10.0, deadline_mono_ns / 1e9)
        with contextlib.suppress(OSError):
            self._ask(CLOSE, struct.pack(">H", OK) + text("done"), until)
        self._wire.close()

    def abandon(self) -> None:
        """Close the socket without a word."""
        self._wire.close()


def stream_address(endpoint: Endpoint, number: int) -> str:
    """The stream listener's address with this number. Raises BrokerError where the endpoint names none."""
    known = addresses_from(endpoint, number, "stream")
    if not known:
        raise BrokerError(
            "no address of the stream listener is known", hint="give it as the endpoint's option `stream`"
        )
    return known[0]


def open_stream_link(endpoint: Endpoint, name: str, first_address: int = 0) -> StreamLink:
    """A connection to the first address that gives one. Raises BrokerError."""
    said: list[str] = []
    refused = False
    for turn in range(len(endpoint.addresses)):
        address = stream_address(endpoint, first_address + turn)
        try:
            return StreamLink(address, endpoint.security, name)
        except OSError as e:
            refused |= isinstance(e, StreamRefusedError) and e.code == AUTHENTICATION_FAILURE
            said.append(f"{address}: {str(e) or type(e).__name__}")
    hint = "check user and password" if refused else "is the server running, and does it want TLS?"
    raise BrokerError(f"cannot connect to RabbitMQ's stream listener: {'; '.join(said)}", hint=hint)
