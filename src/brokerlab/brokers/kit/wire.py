"""A non-blocking socket, with or without TLS, for drivers that make and read frames themselves."""

from __future__ import annotations

import contextlib
import select
import socket
import ssl
from collections.abc import Sequence
from functools import lru_cache

from brokerlab.errors import BrokerError
from brokerlab.model.plan import Endpoint, Security
from brokerlab.secrets import secret

READ_BYTES = 1 << 18
_WANT = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


def credentials(security: Security | None, otherwise: tuple[str, str] = ("", "")) -> tuple[str, str]:
    """User and password, resolved; `otherwise` where none are given."""
    if security is None or security.user is None:
        return otherwise
    return security.user, "" if security.password is None else secret(security.password)


def tls_context(security: Security | None) -> ssl.SSLContext:
    """Trusts the endpoint's authority, or those of this machine where it names none."""
    return _context(None if security is None else security.ca_file)


@lru_cache(maxsize=8)
def _context(ca_file: str | None) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=ca_file)


def split_address(address: str) -> tuple[str, int]:
    """Host and port. Raises BrokerError."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal():
        raise BrokerError(f"{address!r} is not an address", hint="write host:port")
    return host.strip("[]"), int(port)


def addresses_from(endpoint: Endpoint, first: int, option: str | None = None) -> list[str]:
    """The endpoint's addresses, beginning with number `first`; `option` names a list kept among its options."""
    known = list(endpoint.addresses) if option is None else option_list(endpoint, option)
    turn = first % len(known) if known else 0
    return known[turn:] + known[:turn]


def option_list(endpoint: Endpoint, name: str) -> list[str]:
    """The parts of an option that lists several addresses; none where it was not given."""
    return [part for part in endpoint.options.get(name, "").split(",") if part]


class Wire:
    """One connection. Every method raises OSError once it is lost; make a new one then."""

    def __init__(self, address: str, security: Security | None, connect_s: float) -> None:
        host, port = split_address(address)
        self._socket = socket.create_connection((host, port), connect_s)
        self._tls: ssl.SSLSocket | None = None
        try:
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if security is not None and security.tls:
                self._tls = tls_context(security).wrap_socket(self._socket, server_hostname=host)
                self._socket = self._tls
            self._socket.setblocking(False)
        except BaseException:
            self._socket.close()
            raise
        self._out = bytearray()

    def secure(self, security: Security, host: str, seconds: float) -> None:
        """Go on with TLS, where a protocol begins without it. Waits for the server. Raises OSError."""
        self._socket.settimeout(max(seconds, 0.01))
        self._tls = tls_context(security).wrap_socket(self._socket, server_hostname=host)
        self._socket = self._tls
        self._socket.setblocking(False)

    def fileno(self) -> int:
        return self._socket.fileno()

    @property
    def unsent_bytes(self) -> int:
        return len(self._out)

    def write(self, data: bytes | memoryview) -> None:
        """Send what the socket takes; the rest with the next `flush`."""
        sent = 0 if self._out else self._send(data)
        if sent < len(data):
            self._out += memoryview(data)[sent:]
            if sent == 0:
                self.flush()

    def flush(self) -> bool:
        """Whether everything written has gone to the socket."""
        while self._out:
            sent = self._send(self._out)
            if not sent:
                return False
            del self._out[:sent]
        return True

    def _send(self, data: bytes | bytearray | memoryview) -> int:
        try:
            return self._socket.send(data)
        except _WANT:
            return 0

    def read(self) -> bytes:
        """What has come, without waiting; one read only, so that a chunk stays small and its time honest."""
        try:
            data = self._socket.recv(READ_BYTES)
        except _WANT:
            return b""
        if not data:
            raise ConnectionResetError("the server closed the connection")
        return data

    def watched(self) -> tuple[int, bool]:
        """The socket's number, and whether something waits to be written to it."""
        return self.fileno(), bool(self._out)

    def wait(self, seconds: float) -> None:
        """Until something can be read (or what is unsent can be written), `seconds` at most."""
        wait_any([self], seconds)

    def holds_input(self) -> bool:
        """Whether TLS has taken something from the socket already that was not read yet."""
        return self._tls is not None and self._tls.pending() > 0

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.close()


def wait_any(wires: Sequence[Wire], seconds: float) -> None:
    """Until one of them has something to read, or can write what is unsent; `seconds` at most."""
    if any(wire.holds_input() for wire in wires):
        return
    poll = select.poll()  # not select(): file numbers may be above 1023
    for wire in wires:
        poll.register(wire, select.POLLIN | (select.POLLOUT if wire.unsent_bytes else 0))
    poll.poll(max(0.0, seconds * 1000))
