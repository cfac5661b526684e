"""A server in the same process that drivers speak to instead of a socket, and damage to what it answers."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

import numpy as np
from hypothesis import strategies as st

from brokerlab.brokers.contract import Consumer, Producer
from brokerlab.brokers.kit import http_pool, link, polling, reconnecting
from brokerlab.errors import BrokerError
from brokerlab.model.blocks import ACKNOWLEDGED, REJECTED, UNKNOWN, Block

Damage = Callable[[bytes], bytes]
STEPS = 12  # calls of a driver: more than a server's answers and the connections made again need
MESSAGES = 5
_EXTREME = (
    *(b"9" * 5000, b"9223372036854775807", b"9223372036854775808", b"18446744073709551616", b"999999999"),
    *(b"-1", b"0", b"1e999", b"NaN", b"null", b"true", b'"x"', b"[" * 5000, b"\\ud800", b"\0", b"\r\n", b"\n\n", b""),
    *(b"\xff" * 9 + b"\x01", b"\xff" * 9 + b"\x7f", b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff"),
)


class Server(ABC):
    """One connection's other side. `inside` damages what answers carry, `outside` the frames; each its n-th answer with
    the n-th of them, and none after the last."""

    def __init__(self, inside: Sequence[Damage], outside: Sequence[Damage]) -> None:
        self._inside, self._outside = iter(inside), iter(outside)

    def damaged(self, content: bytes) -> bytes:
        return next(self._inside, _whole)(content)

    def hear(self, data: bytes) -> bytes:
        return b"".join(next(self._outside, _whole)(frame) for frame in self.answers(data))

    def greeting(self) -> bytes:
        """What is said before the client says anything."""
        return b""

    @abstractmethod
    def answers(self, data: bytes) -> list[bytes]:
        """Frames for what was written, which is whole."""


def _whole(data: bytes) -> bytes:
    return data


def _splice(data: bytes, at: int, removed: int, put: bytes) -> bytes:
    at %= len(data) + 1
    return data[:at] + put + data[at + removed :]


def _in_place_of_number(data: bytes, which: int, put: bytes) -> bytes:
    found = list(re.finditer(rb"-?\d+", data))
    if not found:
        return put
    begin, end = found[which % len(found)].span()
    return data[:begin] + put + data[end:]


def _repeated(data: bytes, times: int) -> bytes:
    return data * times


_PUT = st.sampled_from(_EXTREME) | st.binary(max_size=6)
_ONE = st.one_of(
    st.builds(
        lambda at, removed, put: lambda d: _splice(d, at, removed, put), st.integers(0, 400), st.integers(0, 8), _PUT
    ),
    st.builds(lambda n, put: lambda d: _in_place_of_number(d, n, put), st.integers(0, 40), st.sampled_from(_EXTREME)),
    st.builds(lambda at: lambda d: d[: at % (len(d) + 1)], st.integers(0, 400)),
    st.builds(lambda times: lambda d: _repeated(d, times), st.integers(0, 3)),
    st.builds(lambda noise: lambda _: noise, st.binary(max_size=80)),
    st.just(_whole),
)
DAMAGES = st.lists(_ONE, max_size=8)


class _ServerWire:
    """See kit.wire.Wire. Nothing more will come once everything was read: waiting for it finds the connection lost."""

    make_server: Callable[[], Server]

    def __init__(self, address: str, security: object, connect_s: float) -> None:  # noqa: ARG002
        self._server = type(self).make_server()
        self._unread = self._server.greeting()
        self._closed = False
        self.unsent_bytes = 0

    def write(self, data: bytes | memoryview) -> None:
        if self._closed:
            raise ConnectionResetError("closed")
        self._unread += self._server.hear(bytes(data))

    def flush(self) -> bool:
        return True

    def read(self) -> bytes:
        if self._closed:
            raise ConnectionResetError("closed")
        data, self._unread = self._unread, b""
        return data

    def wait(self, seconds: float) -> None:  # noqa: ARG002
        if not self._unread:
            raise ConnectionResetError("nothing more will come")

    def watched(self) -> tuple[int, bool]:
        return -1, False

    def close(self) -> None:
        self._closed = True


@contextmanager
def speaking_to(make_server: Callable[[], Server]) -> Iterator[None]:
    """Every connection that drivers make leads to a server made so; nothing waits, and lost ones are made again at once."""
    wire = type("ServerWire", (_ServerWire,), {"make_server": staticmethod(make_server)})
    with ExitStack() as changed:
        changed.enter_context(patch.object(link, "Wire", wire))
        for module in (reconnecting, http_pool, polling):
            changed.enter_context(patch.object(module, "RECONNECT_EVERY_S", 0.0))
        changed.enter_context(patch.object(reconnecting, "NOT_YET_S", 0.0))
        changed.enter_context(patch.object(polling, "_FLUSH_S", 0.0))
        changed.enter_context(patch.object(http_pool.HttpPool, "wait", lambda _pool, _seconds: None))
        yield


def messages() -> Block:
    """Numbers 0 to MESSAGES - 1, in two partitions."""
    at = np.arange(MESSAGES, dtype=np.int64) * 8
    return Block(
        np.arange(MESSAGES * 8, dtype=np.uint8), at, np.full(MESSAGES, 8, np.int32), (at // 8 % 2).astype(np.int32), 0
    )


def check_producer(make: Callable[[], Producer]) -> Counter[int]:
    """No error but BrokerError, and no message settles twice. Returns how many had which outcome."""
    outcomes: dict[int, int] = {}
    try:
        producer = make()
    except BrokerError:
        return Counter()
    block, taken = messages(), 0
    for _ in range(STEPS):
        if taken < MESSAGES:
            rest = block.part(slice(taken, None))
            taken += producer.send(Block(rest.buffer, rest.offsets, rest.lengths, rest.partitions, taken))
        settled = producer.settled()
        for index, outcome in zip(settled.indices.tolist(), settled.outcomes.tolist(), strict=True):
            assert index not in outcomes, "settled twice"
            assert index < taken
            outcomes[index] = outcome
        for error in settled.errors:
            error.encode()
    producer.close(0)
    assert set(outcomes.values()) <= {ACKNOWLEDGED, REJECTED, UNKNOWN}
    return Counter(outcomes.values())


def check_consumer(make: Callable[[], Consumer]) -> int:
    """No error but BrokerError. Returns how many messages came."""
    came = 0
    try:
        consumer = make()
        for _ in range(STEPS):
            some = consumer.receive(3, 0)
            came += len(some)
            consumer.acknowledge(some)
        left = consumer.remaining()
        assert left is None or isinstance(left, int)
        consumer.close(0)
    except BrokerError:
        pass
    return came
