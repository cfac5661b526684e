"""What a connection does whichever protocol is spoken over it: reading, heartbeats, ending, and finding a server."""

from __future__ import annotations

import contextlib
import struct
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import ClassVar, Self

from brokerlab.brokers.kit.wire import Wire, addresses_from, credentials, split_address, wait_any
from brokerlab.errors import BrokerError
from brokerlab.model.plan import Endpoint, Security

CONNECT_S = 10.0
CALL_S = 30.0
CLOSE_S = 10.0
_GOODBYE_NS = 5_000_000_000


class RefusedError(OSError):
    """The server said no, and gave its reason as a number. `not_yet`: soon it may say yes."""

    def __init__(self, said: str, code: int, *, not_yet: bool = False) -> None:
        super().__init__(said)
        self.code = code
        self.not_yet = not_yet


# What reading binary frames raises where they are not what they should be.
_MISREAD = (struct.error, LookupError, ValueError, OverflowError, BufferError)


@contextlib.contextmanager
def reading_frames() -> Iterator[None]:
    """Frames that cannot be read are an OSError: the connection is of no use any more."""
    try:
        yield
    except _MISREAD as e:
        raise OSError(f"unreadable frame: {type(e).__name__}") from e


class Link(ABC):
    """Ready for use when the constructor returns. Methods raise OSError once it is lost."""

    listener: ClassVar[str]  # what errors call that which is connected to
    wrong_password: ClassVar[int] = -1  # the code of a RefusedError for it
    anonymous: ClassVar[tuple[str, str]] = ("", "")  # user and password where none are given
    greets_in_plain: ClassVar[bool] = False  # the handshake itself goes on with TLS, by `_secure`
    heartbeat_s: ClassVar[float | None] = None  # how often either side says something; None: the protocol has no such

    def __init__(self, address: str, security: Security | None, name: str, connect_s: float = CONNECT_S) -> None:
        self._buffer = bytearray()  # what has come and is not understood yet
        self._last_write = self._last_read = time.monotonic()
        until = self._last_read + connect_s
        self._address, self._security = address, security
        self._wire = Wire(address, None if self.greets_in_plain else security, connect_s)
        try:
            self._handshake(name, *credentials(security, self.anonymous), until)
        except BaseException:
            self._wire.close()
            raise

    @classmethod
    def open(cls, endpoint: Endpoint, name: str, first_address: int = 0) -> Self:
        """A connection to the first address, from this one on, that gives one. Raises BrokerError."""
        said: list[str] = []
        refused = False
        for address in cls.addresses(endpoint, first_address):
            try:
                return cls(address, endpoint.security, name)
            except OSError as e:
                refused |= isinstance(e, RefusedError) and e.code == cls.wrong_password
                said.append(f"{address}: {str(e) or type(e).__name__}")
        hint = "check user and password" if refused else "is the server running, and does it want TLS?"
        raise BrokerError(f"cannot connect to {cls.listener}: {'; '.join(said)}", hint=hint)

    @classmethod
    @contextlib.contextmanager
    def session(cls, endpoint: Endpoint) -> Iterator[Self]:
        """A connection for a few calls. Raises BrokerError, also for what goes wrong meanwhile."""
        link = cls.open(endpoint, "brokerlab-admin")
        try:
            yield link
        except OSError as e:
            link.abandon()
            raise BrokerError(f"{cls.listener}: the server refused or did not answer: {e}") from e
        finally:
            link.close(time.monotonic_ns() + _GOODBYE_NS)

    @staticmethod
    def addresses(endpoint: Endpoint, first: int) -> list[str]:
        """Where such a connection can be had, beginning with number `first`. Raises BrokerError where none is known."""
        return addresses_from(endpoint, first)

    @abstractmethod
    def _handshake(self, name: str, user: str, password: str, until: float) -> None: ...

    def _secure(self, until: float) -> None:
        """Go on with TLS."""
        assert self._security is not None
        self._wire.secure(self._security, split_address(self._address)[0], until - time.monotonic())

    @abstractmethod
    def _take_frames(self) -> None:
        """Read the whole frames at the beginning of the buffer, and remove them from it."""

    def _send_heartbeat(self) -> None:
        """For protocols with `heartbeat_s`."""
        raise NotImplementedError

    def _say_goodbye(self, until: float) -> None:
        """And wait for the answer; nothing else that comes is of interest any more. At least all is sent."""
        while not self._wire.flush() and time.monotonic() < until:
            self._wire.wait(until - time.monotonic())

    @property
    def unsent_bytes(self) -> int:
        return self._wire.unsent_bytes

    def write(self, data: bytes | memoryview) -> None:
        """Frames that are made already."""
        self._last_write = time.monotonic()
        self._wire.write(data)

    def pump(self) -> bool:
        """Read once without waiting, send what is unsent, keep the heartbeat. Whether anything came."""
        self._wire.flush()
        came = self._read()
        if self.heartbeat_s is not None:
            now = time.monotonic()
            if not came and now - self._last_read > 2 * self.heartbeat_s:
                raise TimeoutError("the server has been silent for two heartbeats")
            if now - self._last_write > self.heartbeat_s / 2:
                self._send_heartbeat()
        return came

    def watched(self) -> tuple[int, bool]:
        """The socket's number, and whether something waits to be written to it."""
        return self._wire.watched()

    def wait(self, seconds: float) -> None:
        self._wire.wait(seconds)

    @staticmethod
    def wait_any(links: Sequence[Link], seconds: float) -> None:
        """Until one of them has something to read, or can write what is unsent; `seconds` at most."""
        wait_any([link._wire for link in links], seconds)

    def _read_or_wait(self, until: float, awaited: str) -> None:
        """One turn of waiting for an answer."""
        left = until - time.monotonic()
        if left <= 0:
            raise TimeoutError(f"no {awaited} from the server in time")
        self._wire.flush()
        if not self._read():
            self._wire.wait(min(left, 1.0))

    def _read(self) -> bool:
        data = self._wire.read()
        if not data:
            return False
        self._last_read = time.monotonic()
        self._buffer += data
        self._take_frames()
        return True

    def close(self, deadline_mono_ns: int) -> None:
        """Say goodbye and wait for the answer, at the deadline at the latest. Idempotent."""
        until = min(time.monotonic() + CLOSE_S, deadline_mono_ns / 1e9)
        with contextlib.suppress(OSError):
            self._say_goodbye(until)
        self._wire.close()

    def abandon(self) -> None:
        """Close the socket without a word. Idempotent."""
        self._wire.close()
