"""Pulsar's binary protocol, as far as opening needs it: questions and answers on a plain connection, one thread waiting.

A connection that is open is handed over to C (native/pulsar_*.c), with what was read and not understood yet. Commands and
their fields have the numbers of PulsarApi.proto; the type of a command is the number of its field too.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import time
from collections.abc import Mapping

from brokerlab.brokers.kit.protobuf import Value, fields_of, message, number_in, text_in, varint
from brokerlab.brokers.kit.wire import split_address
from brokerlab.errors import BrokerError

CONNECT, CONNECTED, SUBSCRIBE, PRODUCER, SUCCESS, ERROR, PRODUCER_SUCCESS = 2, 3, 4, 5, 13, 14, 17
PING, PONG, LOOKUP, LOOKUP_RESPONSE = 18, 19, 23, 24
# Where an answer has the number of its request.
_REQUEST_IN = {SUCCESS: 1, ERROR: 1, PRODUCER_SUCCESS: 1, LOOKUP_RESPONSE: 4}
_PROTOCOL_VERSION = 19
_FRAME_MOST = 1 << 27
_READ_BYTES = 1 << 16
_AT_ONCE = 500  # questions under way
MESSAGE_MOST = 5 * 1024 * 1024  # Pulsar's default, where a broker does not say
SERVER_ERRORS = (
    "UnknownError", "MetadataError", "PersistenceError", "AuthenticationError", "AuthorizationError", "ConsumerBusy",
    "ServiceNotReady", "ProducerBlockedQuotaExceededError", "ProducerBlockedQuotaExceededException", "ChecksumError",
    "UnsupportedVersionError", "TopicNotFound", "SubscriptionNotFound", "ConsumerNotFound", "TooManyRequests",
    "TopicTerminatedError", "ProducerBusy", "InvalidTopicName", "IncompatibleSchema", "ConsumerAssignError",
    "TransactionCoordinatorNotFound", "InvalidTxnStatus", "NotAllowedError", "TransactionConflict",
    "TransactionNotFound", "ProducerFenced",
)  # fmt: skip

Fields = dict[int, Value]


def error_name(code: int) -> str:
    """The name of a ServerError."""
    return SERVER_ERRORS[code] if 0 <= code < len(SERVER_ERRORS) else f"ServerError {code}"


class RefusedError(OSError):
    """A broker answered that it will not. `name` is that of its ServerError."""

    def __init__(self, name: str, said: str) -> None:
        super().__init__(f"{name}: {said.splitlines()[0] if said else 'no reason given'}")
        self.name = name


def frame(command: int, fields: bytes) -> bytes:
    """A command as it is written; one without fields is there all the same."""
    base = message([(1, command)]) + varint(command << 3 | 2) + varint(len(fields)) + fields
    return struct.pack(">II", len(base) + 4, len(base)) + base


class Speaking:
    """One connection that is greeted. Every method raises OSError when it is lost, silent for too long, or no Pulsar.
    `proxy_to`: the broker that a proxy at this address is to connect us with."""

    def __init__(self, address: str, silent_s: float, proxy_to: str = "") -> None:
        try:
            host, port = split_address(address)
        except BrokerError as e:  # a broker may name any
            raise OSError(str(e)) from e
        self._silent_s = silent_s
        self._read = b""
        self._socket = socket.create_connection((host, port), silent_s)
        try:
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._socket.sendall(frame(CONNECT, message([(1, "brokerlab"), (4, _PROTOCOL_VERSION), (6, proxy_to)])))
            kind, fields = self._next()
            if kind == ERROR:
                raise _refusal(fields)
            if kind != CONNECTED:
                raise OSError(f"{address} does not greet as Pulsar does")
        except BaseException:
            self._socket.close()
            raise
        self.message_most = number_in(fields, 3) or MESSAGE_MOST

    def ask(self, questions: Mapping[int, tuple[int, bytes]]) -> dict[int, Fields | RefusedError]:
        """Answers to commands, by the numbers of their requests. What a broker refuses is among them."""
        answers: dict[int, Fields | RefusedError] = {}
        numbers = list(questions)
        for first in range(0, len(numbers), _AT_ONCE):
            some = numbers[first : first + _AT_ONCE]
            self._socket.sendall(b"".join(frame(*questions[number]) for number in some))
            while not all(number in answers for number in some):
                kind, fields = self._next()
                if kind in _REQUEST_IN:
                    answers[number_in(fields, _REQUEST_IN[kind])] = _refusal(fields) if kind == ERROR else fields
        return answers

    def hand_over(self) -> tuple[int, bytes]:
        """The number of the socket, for the caller to adopt, and what was read and not used."""
        self._socket.setblocking(False)
        return self._socket.detach(), self._read

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.close()

    def _next(self) -> tuple[int, Fields]:
        """The next command; a PING on the way is answered."""
        until = time.monotonic() + self._silent_s
        while True:
            found = self._take()
            if found is None:
                self._socket.settimeout(max(until - time.monotonic(), 0.001))
                data = self._socket.recv(_READ_BYTES)
                if not data:
                    raise ConnectionResetError("the broker closed the connection")
                self._read += data
                continue
            kind, _ = found
            if kind != PING:
                return found
            self._socket.sendall(frame(PONG, b""))

    def _take(self) -> tuple[int, Fields] | None:
        if len(self._read) < 8:
            return None
        size, command = struct.unpack_from(">II", self._read)
        if not 4 <= size <= _FRAME_MOST or command > size - 4:
            raise OSError("a frame that is none of Pulsar's")
        if len(self._read) < 4 + size:
            return None
        base = fields_of(self._read[8 : 8 + command])
        self._read = self._read[4 + size :]
        kind = number_in(base, 1)
        inside = base.get(kind, b"")
        return kind, fields_of(inside if isinstance(inside, bytes) else b"")


def _refusal(fields: Fields) -> RefusedError:
    return RefusedError(error_name(number_in(fields, 2)), text_in(fields, 3))
