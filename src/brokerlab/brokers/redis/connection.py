"""One RESP2 connection over a socket that never blocks, parsed by hiredis."""

from __future__ import annotations

import select
import time
from importlib.metadata import version

import hiredis

from brokerlab.brokers.kit.wire import READ_BYTES, Wire
from brokerlab.errors import BrokerError
from brokerlab.model.plan import Security
from brokerlab.secrets import secret

Command = tuple[str | bytes | int, ...]
CONNECT_S = 10.0
CALL_S = 20.0
PATH = f"python (raw RESP, hiredis {version('hiredis')})"


class ServerError(BrokerError):
    """The server answered with an error; `word` is the first word of it."""

    def __init__(self, what: str, error: BaseException) -> None:
        super().__init__(f"{what}: {error}")
        self.word = str(error).partition(" ")[0]


class NotRedisError(ConnectionError):
    """Bytes came that are not Redis's protocol: some other server answers there."""


def lacks(where: str, command: str) -> BrokerError:
    """A server that is too old for what is asked of it."""
    return BrokerError(
        f"{where} has no {command}: it cannot confirm what this level asks for",
        hint="L1 needs Redis 7.2 or later, or Valkey; choose another level for this server",
    )


class Connection(Wire):
    """Authenticated when the constructor returns, which raises BrokerError when that cannot be. Afterwards OSError
    means that the connection is lost."""

    def __init__(self, address: str, security: Security | None, name: str, connect_s: float = CONNECT_S) -> None:
        self.address = address
        self._reader = hiredis.Reader()
        try:
            super().__init__(address, security, connect_s)
        except OSError as e:
            raise BrokerError(f"{address} does not answer: {_words(e, security)}") from e
        try:
            self._greet(security, name, connect_s)
        except NotRedisError as e:
            self.close()
            raise BrokerError(f"{address} does not speak Redis's protocol: {e}; check the address and the port") from e
        except OSError as e:
            self.close()
            raise BrokerError(f"{address} closed the connection: {_words(e, security)}") from e
        except BaseException:
            self.close()
            raise

    def _greet(self, security: Security | None, name: str, seconds: float) -> None:
        if security is not None and security.password is not None:
            words = [security.user] if security.user else []
            try:
                self.call("AUTH", *words, secret(security.password), seconds=seconds)
            except ServerError as e:
                raise BrokerError(
                    f"{self.address} refuses the user or password ({e.word})", hint="check security.user and .password"
                ) from None
        try:
            self.call("CLIENT", "SETNAME", name, seconds=seconds)
        except ServerError as e:
            hint = "give security.user and security.password" if e.word == "NOAUTH" else None
            raise BrokerError(e.message, hint=hint) from None

    def replies(self) -> list[object]:
        """Every reply that has arrived; error replies are hiredis.ReplyError objects. Raises OSError."""
        while data := self.read():
            self._reader.feed(data)
            if len(data) < READ_BYTES and not self.holds_input():
                break
        gets = self._reader.gets
        found = []
        try:
            while (reply := gets()) is not False:
                found.append(reply)
        except hiredis.ProtocolError as e:
            raise NotRedisError(str(e)) from e
        return found

    def call(self, *words: str | bytes | int, seconds: float = CALL_S) -> object:
        """Send a command and wait for its reply. Raises ServerError for an error, OSError."""
        reply = self.call_many([words], seconds)[0]
        if isinstance(reply, hiredis.ReplyError):
            raise ServerError(f"{self.address}: {words[0]!s}", reply)
        return reply

    def call_many(self, commands: list[Command], seconds: float = CALL_S) -> list[object]:
        """Send commands together and wait for all replies, errors included. Not while other replies are due. Raises
        OSError."""
        until = time.monotonic() + seconds
        found: list[object] = []
        self.write(b"".join(pack(*c) for c in commands))
        while True:
            self.flush()
            found += self.replies()
            if len(found) >= len(commands):
                return found
            if time.monotonic() >= until:
                raise TimeoutError(f"no answer within {seconds:g} s")
            self.wait(until - time.monotonic())


def pack(*words: str | bytes | int) -> bytes:
    """One command as RESP."""
    packed: bytes = hiredis.pack_command(words)  # type: ignore[arg-type]  # its types know one word only
    return packed


def readable(connections: list[Connection]) -> set[int]:
    """File numbers of those that have something to read now."""
    poll = select.poll()
    for connection in connections:
        poll.register(connection, select.POLLIN)
    return {number for number, _ in poll.poll(0)}


def _words(error: OSError, security: Security | None) -> str:
    said = error.strerror or str(error) or type(error).__name__
    plain = security is None or not security.tls
    return f"{said} (does it demand TLS?)" if plain and isinstance(error, ConnectionResetError) else said
