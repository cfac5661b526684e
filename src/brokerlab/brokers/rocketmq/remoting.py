"""RocketMQ's remoting protocol: requests, their answers, and messages in them. The README says what is covered."""

from __future__ import annotations

import base64
import hmac
import json
import struct
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from brokerlab.brokers.kit.arrived import Arrived, readable
from brokerlab.brokers.kit.asking import AskingLink
from brokerlab.brokers.kit.link import CALL_S, RefusedError

PULL, QUERY_OFFSET, COMMIT_OFFSET, CREATE_TOPIC, BROKER_CONFIG, RUNTIME_INFO = 11, 14, 15, 17, 26, 28
ALL_TOPICS, ALL_POSITIONS = 21, 43
MAX_OFFSET, HEARTBEAT, CREATE_GROUP, TOPIC_LIST, DELETE_GROUP = 30, 34, 200, 206, 207
DELETE_TOPIC, FORGET_TOPIC, SEND, SEND_BATCH, TOPIC_CONFIG, REPLICATION = 215, 216, 310, 320, 351, 907
SUCCESS, NOT_SUPPORTED, NO_PERMISSION, NO_TOPIC = 0, 3, 16, 17
NO_MESSAGE, RETRY_PULL, OFFSET_MOVED, NOT_FOUND = 19, 20, 21, 22
CODES = {  # of answers to SEND and SEND_BATCH, as RocketMQ calls them
    0: "SUCCESS", 1: "SYSTEM_ERROR", 2: "SYSTEM_BUSY", 3: "REQUEST_CODE_NOT_SUPPORTED", 10: "FLUSH_DISK_TIMEOUT",
    11: "SLAVE_NOT_AVAILABLE", 12: "FLUSH_SLAVE_TIMEOUT", 13: "MESSAGE_ILLEGAL", 14: "SERVICE_NOT_AVAILABLE",
    16: "NO_PERMISSION", 17: "TOPIC_NOT_EXIST",
}  # fmt: skip
Fields = Mapping[str, str]
MOST_FRAME_BYTES = 1 << 24  # RocketMQ's own limit
BATCH_OVERHEAD_BYTES = 22  # of each message in a batch
_VERSION = 500  # of a client of RocketMQ 5: answers are JSON that others can read
_LENGTHS = struct.Struct(">II")  # of all that follows, and of the header
_IN_BATCH = struct.Struct(">5i")  # size; magic, checksum and flag, which the broker fills; size of the body
_STORED = struct.Struct(">i16xq8xi")  # size; position in its queue; flags
_BODY_AT = 88  # in a stored message whose two addresses are of IPv4
_IPV6_FLAGS, _IPV6_BYTES = (1 << 4, 1 << 5), 12  # how much longer such an address is


@dataclass(frozen=True)
class Answer:
    number: int  # of the request
    code: int
    remark: str
    fields: Fields
    body: bytes


def request(code: int, number: int, fields: Fields, body: bytes = b"", user: str = "", password: str = "") -> bytes:
    """One frame. With a user it is signed as RocketMQ wants it: over all values in the order of their names, and the body."""
    if user:
        fields = {**fields, "AccessKey": user}
        content = "".join(value for _, value in sorted(fields.items())).encode() + body
        signature = base64.b64encode(hmac.digest(password.encode(), content, "sha1")).decode()
        fields = {**fields, "Signature": signature}
    about = {"code": code, "language": "PYTHON", "version": _VERSION, "opaque": number, "flag": 0, "extFields": fields}
    header = json.dumps(about).encode()
    return _LENGTHS.pack(4 + len(header) + len(body), len(header)) + header + body


def take_answers(buffer: bytearray) -> list[Answer]:
    """The whole frames at the beginning of the buffer, which are removed; requests of the server's are left out. Raises
    OSError for what is no such frame."""
    found, at = [], 0
    while len(buffer) - at >= _LENGTHS.size:
        total, header_bytes = _LENGTHS.unpack_from(buffer, at)
        # The first byte of the header's length is the kind of header; 0 is JSON, any other makes it too long.
        if not 4 <= total <= MOST_FRAME_BYTES or header_bytes > total - 4:
            raise OSError("unreadable frame: this is not RocketMQ's remoting protocol")
        begin, end = at + _LENGTHS.size, at + 4 + total
        if len(buffer) < end:
            break
        found += _answer(bytes(buffer[begin : begin + header_bytes]), bytes(buffer[begin + header_bytes : end]))
        at = end
    del buffer[:at]
    return found


def _answer(header: bytes, body: bytes) -> list[Answer]:
    try:
        about = json.loads(header)
        if not int(about["flag"]) & 1:  # not an answer
            return []
        fields = {str(name): str(value) for name, value in (about.get("extFields") or {}).items()}
        return [Answer(int(about["opaque"]), int(about["code"]), str(about.get("remark") or ""), fields, body)]
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError) as e:
        raise OSError("unreadable frame: its header is not that of an answer") from e


def send_fields(topic: str, queue: int, *, batch: bool) -> Fields:
    """Of a SEND or SEND_BATCH request: group, topic, default topic and queues, queue, flags, time of birth, flag,
    properties, times consumed, unit mode; and whether it is a batch."""
    values = ("brokerlab", topic, "", "0", str(queue), "0", "0", "0", "", "0", "false")
    return {**dict(zip("abcdefghijk", values, strict=True)), "m": "true" if batch else "false"}


def batch_body(payloads: list[bytes]) -> bytes:
    """Messages without properties."""
    heads = {n: _IN_BATCH.pack(BATCH_OVERHEAD_BYTES + n, 0, 0, 0, n) for n in set(map(len, payloads))}
    return b"".join(chain.from_iterable((heads[len(payload)], payload, b"\0\0") for payload in payloads))


def stored_messages(data: bytes, at_mono_ns: int) -> Arrived:
    """The messages in the body of an answer to PULL. Raises OSError where they are damaged."""
    found, at = [], 0  # where a message's body begins, its length, and the message's position
    try:
        while at < len(data):
            size, position, flags = _STORED.unpack_from(data, at)
            body_at = _BODY_AT + _IPV6_BYTES * sum(bool(flags & flag) for flag in _IPV6_FLAGS)
            (length,) = struct.unpack_from(">i", data, at + body_at - 4)
            if length < 0 or body_at + length > size or at + size > len(data):
                raise OSError("unreadable message: its sizes contradict each other")
            found.append((at + body_at, length, position))
            at += size
    except struct.error as e:
        raise OSError("unreadable message: it ends too early") from e
    starts, lengths, positions = np.array(found, np.int64).reshape(-1, 3).T
    redelivered = np.zeros(len(found), np.uint8)
    return Arrived(readable(data), starts, lengths.astype(np.int32), positions, redelivered, positions, at_mono_ns)


def expect(answer: Answer, *also_fine: int) -> Answer:
    """The answer, where it is success or one of these codes. Raises RefusedError."""
    if answer.code not in (SUCCESS, *also_fine):
        raise RefusedError(f"code {answer.code}: {answer.remark.partition(chr(10))[0]}", answer.code)
    return answer


class RemotingLink(AskingLink[Answer]):
    """See kit.link.Link. To a broker, or to a name server."""

    listener = "the remoting port"
    wrong_password = NO_PERMISSION
    heartbeat_s = 30

    def _handshake(self, name: str, user: str, password: str, until: float) -> None:
        """The protocol has none. A heartbeat shows whether the other side speaks it and accepts the login."""
        self._login = (user, password)
        self._beat = json.dumps({"clientID": name, "consumerDataSet": [], "producerDataSet": []}).encode()
        self.call(HEARTBEAT, {}, self._beat, NOT_SUPPORTED, seconds=until - time.monotonic())

    def request(self, code: int, fields: Fields, on_answer: Callable[[Answer], None], body: bytes = b"") -> bytes:
        """A frame for `write`, and what to do when its answer has come."""
        return request(code, self._numbered(on_answer), fields, body, *self._login)

    def call(self, code: int, fields: Fields, body: bytes = b"", *fine: int, seconds: float = CALL_S) -> Answer:
        """Ask, and wait for the answer. Raises RefusedError unless that is success or one of `fine`."""
        got: list[Answer] = []
        self.write(self.request(code, fields, got.append, body))
        return expect(self._wait_for_answer(f"request {code}", got, seconds), *fine)

    def call_each(self, code: int, fields: Sequence[Fields], seconds: float = CALL_S) -> list[Answer]:
        """Ask with each of these, all together, and wait for the answers, whatever they say. Raises OSError."""
        until, got = time.monotonic() + seconds, [list[Answer]() for _ in fields]
        self.write(b"".join(self.request(code, one, to.append) for one, to in zip(fields, got, strict=True)))
        return [self._wait_for_answer(f"request {code}", to, max(until - time.monotonic(), 0)) for to in got]

    def _take_frames(self) -> None:
        for answer in take_answers(self._buffer):
            self._answered(answer.number, answer)

    def _send_heartbeat(self) -> None:
        self.write(self.request(HEARTBEAT, {}, lambda _: None, self._beat))
