"""A non-blocking socket, with or without TLS, that both protocols are spoken over."""

from __future__ import annotations

import contextlib
import socket
import ssl

from brokerlab.brokers.kit.sockets import wait_ready
from brokerlab.model.plan import Endpoint, Security
from brokerlab.secrets import secret

READ_BYTES = 1 << 18


def credentials(security: Security | None) -> tuple[str, str]:
    """User and password; RabbitMQ's own `guest`, who may come from this machine only, when none are given."""
    if security is None or security.user is None:
        return "guest", "guest"
    return security.user, "" if security.password is None else secret(security.password)


def tls_context(security: Security | None) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=None if security is None else security.ca_file)


class Wire:
    """One connection. Every method raises OSError once it is lost; make a new one then."""

    def __init__(self, address: str, security: Security | None, connect_s: float) -> None:
        host, _, port = address.rpartition(":")
        self._socket = socket.create_connection((host, int(port)), connect_s)
        try:
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._tls: ssl.SSLSocket | None = None
            if security is not None and security.tls:
                self._tls = tls_context(security).wrap_socket(self._socket, server_hostname=host)
                self._socket = self._tls
            self._socket.setblocking(False)
        except BaseException:
            self._socket.close()
            raise
        self._out = bytearray()

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
        except (BlockingIOError, ssl.SSLWantWriteError, ssl.SSLWantReadError):
            return 0

    def read(self) -> bytes:
        """What has come, without waiting; one read only, so that a chunk stays small and its time honest."""
        try:
            data = self._socket.recv(READ_BYTES)
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return b""
        if not data:
            raise ConnectionResetError("the server closed the connection")
        return data

    def watched(self) -> tuple[int, bool]:
        """The socket's number, and whether something waits to be written to it."""
        return self._socket.fileno(), bool(self._out)

    def wait(self, seconds: float) -> None:
        """Until something can be read (or what is unsent can be written), `seconds` at most."""
        if self._tls is not None and self._tls.pending():
            return  # TLS has taken it from the socket already
        wait_ready(self._socket, seconds, unsent=bool(self._out))

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.close()


def addresses_from(endpoint: Endpoint, first: int, option: str | None = None) -> list[str]:
    """The endpoint's addresses, beginning with number `first`; `option` names a list kept among its options."""
    known = (
        list(endpoint.addresses) if option is None else [a for a in endpoint.options.get(option, "").split(",") if a]
    )
    turn = first % len(known) if known else 0
    return known[turn:] + known[:turn]
