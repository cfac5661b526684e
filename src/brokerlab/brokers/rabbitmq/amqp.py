"""An AMQP 0.9.1 connection with one channel. Messages go through `frames`; everything else through pika's codec."""

from __future__ import annotations

import contextlib
import struct
import time
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

from pika import frame, spec
from pika.exceptions import AMQPError

from brokerlab.brokers.rabbitmq.frames import FRAME_OVERHEAD, frame_bytes
from brokerlab.brokers.rabbitmq.wire import Wire, addresses_from, credentials
from brokerlab.errors import BrokerError
from brokerlab.model.plan import Endpoint, Security

CONNECT_S = 10.0
CALL_S = 30.0
CHANNEL = 1
FRAME_MAX = 131_072
HEARTBEAT_S = 30
PATH = f"python (AMQP 0.9.1 frames made in blocks; other methods by pika {version('pika')})"


class ClosedByServerError(OSError):
    """The server closed the channel or the connection and said why."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(f"{code} {text}")
        self.code = code


class AmqpLink:
    """Connected, with channel 1 open, when the constructor returns. Methods raise OSError once it is lost.

    `on_frames` gets all bytes that have come and not been read, a view that is valid during the call only. It returns
    how many it has understood, whole frames of channel 1, and whether it must see more before it understands what
    follows. Otherwise the next frame is read by pika and given to `on_method` (a method, or the properties of a
    content header).
    """

    def __init__(self, address: str, security: Security | None, name: str, connect_s: float = CONNECT_S) -> None:
        self._buffer = bytearray()
        self._answers: list[Any] = []
        self.on_frames: Callable[[memoryview], tuple[int, bool]] | None = None
        self.on_method: Callable[[Any], None] | None = None
        self.blocked = False  # the server's memory or disk alarm: it reads nothing more from publishers
        self._last_write = self._last_read = time.monotonic()
        until = self._last_read + connect_s
        self._wire = Wire(address, security, connect_s)
        try:
            self._handshake(name, *credentials(security), until)
        except (OSError, AMQPError):
            self._wire.close()
            raise

    def _handshake(self, name: str, user: str, password: str, until: float) -> None:
        self._wire.write(b"AMQP\x00\x00\x09\x01")
        self._expect(spec.Connection.Start, until)
        capabilities = {
            "publisher_confirms": True,
            "basic.nack": True,
            "consumer_cancel_notify": True,
            "connection.blocked": True,
            "authentication_failure_close": True,
        }
        properties = {"product": "brokerlab", "connection_name": name, "capabilities": capabilities}
        self._send(0, spec.Connection.StartOk(properties, "PLAIN", f"\0{user}\0{password}", "en_US"))
        tune = self._expect(spec.Connection.Tune, until)
        self.frame_max = min(FRAME_MAX, tune.frame_max or FRAME_MAX)
        # channel_max 0 would mean "no limit", which RabbitMQ refuses.
        self._send(0, spec.Connection.TuneOk(min(2047, tune.channel_max or 2047), self.frame_max, HEARTBEAT_S))
        self._send(0, spec.Connection.Open("/"))
        self._expect(spec.Connection.OpenOk, until)
        self._send(CHANNEL, spec.Channel.Open())
        self._expect(spec.Channel.OpenOk, until)

    @property
    def unsent_bytes(self) -> int:
        return self._wire.unsent_bytes

    def call(self, method: Any, seconds: float = CALL_S) -> Any:
        """Send a method of our channel and wait for its answer. What comes meanwhile goes where it always goes."""
        self._send(CHANNEL, method)
        kind, _, name = method.NAME.partition(".")
        return self._expect(getattr(getattr(spec, kind), f"{name}Ok"), time.monotonic() + seconds)

    def send_method(self, method: Any) -> None:
        self._send(CHANNEL, method)

    def write(self, data: bytes | memoryview) -> None:
        """Frames that are made already."""
        self._last_write = time.monotonic()
        self._wire.write(data)

    def _send(self, channel: int, method: Any) -> None:
        self._last_write = time.monotonic()
        self._wire.write(frame.Method(channel, method).marshal())

    def _expect(self, kind: type, until: float) -> Any:
        while True:
            for at, answer in enumerate(self._answers):
                if isinstance(answer, kind):
                    return self._answers.pop(at)
            left = until - time.monotonic()
            if left <= 0:
                raise TimeoutError(f"no {kind.__name__} from the server in time")
            self._wire.flush()
            if not self._read():
                self._wire.wait(min(left, 1.0))

    def pump(self) -> bool:
        """Read once without waiting, send what is unsent, keep the heartbeat. Whether anything came."""
        self._wire.flush()
        came = self._read()
        now = time.monotonic()
        if not came and now - self._last_read > 2 * HEARTBEAT_S:
            raise TimeoutError("the server has been silent for two heartbeats")
        if now - self._last_write > HEARTBEAT_S / 2:
            self.write(frame.Heartbeat().marshal())
        return came

    def wait(self, seconds: float) -> None:
        self._wire.wait(seconds)

    def _read(self) -> bool:
        data = self._wire.read()
        if not data:
            return False
        self._last_read = time.monotonic()
        self._buffer += data
        self._take_frames()
        return True

    def _take_frames(self) -> None:
        at, size = 0, len(self._buffer)
        while at < size:
            if self.on_frames is not None:
                with memoryview(self._buffer) as whole, whole[at:] as view:
                    used, wants_more = self.on_frames(view)
                at += used
                if wants_more:
                    break
            end = at + frame_bytes(self._buffer, at) if at + FRAME_OVERHEAD <= size else size + 1
            if end > size:
                break
            try:
                _, read = frame.decode_frame(bytes(self._buffer[at:end]))
            except (AMQPError, LookupError, ValueError, struct.error) as e:
                raise OSError(f"unreadable frame: {type(e).__name__}") from e
            at = end
            self._on_frame(read)
        del self._buffer[:at]

    def _on_frame(self, read: Any) -> None:
        """Whatever `on_frames` did not take."""
        if isinstance(read, frame.ProtocolHeader):
            raise OSError("the server speaks another version of AMQP")
        if isinstance(read, frame.Header) and self.on_method is not None:
            self.on_method(read.properties)
        if not isinstance(read, frame.Method):
            return  # heartbeats; bodies of returned messages
        method = read.method
        if isinstance(method, spec.Connection.Close):
            with contextlib.suppress(OSError):
                self._send(0, spec.Connection.CloseOk())
            raise ClosedByServerError(method.reply_code, method.reply_text)
        if isinstance(method, spec.Channel.Close):
            with contextlib.suppress(OSError):
                self._send(CHANNEL, spec.Channel.CloseOk())
            raise ClosedByServerError(method.reply_code, method.reply_text)
        if isinstance(method, spec.Connection.Blocked):
            self.blocked = True
        elif isinstance(method, spec.Connection.Unblocked):
            self.blocked = False
        elif method.NAME.endswith(("Ok", "Start", "Tune")):
            self._answers.append(method)
        elif self.on_method is not None:
            self.on_method(method)

    def close(self, deadline_mono_ns: int) -> None:
        """Say goodbye and wait for the answer, at the deadline at the latest. Idempotent."""
        self.on_frames = _ignore
        until = min(time.monotonic() + 10.0, deadline_mono_ns / 1e9)
        with contextlib.suppress(OSError):
            self._send(0, spec.Connection.Close(200, "done", 0, 0))
            self._expect(spec.Connection.CloseOk, until)
        self._wire.close()

    def abandon(self) -> None:
        """Close the socket without a word."""
        self._wire.close()


def _ignore(view: memoryview) -> tuple[int, bool]:
    """Skip whole frames of our channel; those of channel 0 are still wanted."""
    at = 0
    while at + FRAME_OVERHEAD <= len(view) and view[at + 2] == CHANNEL and at + frame_bytes(view, at) <= len(view):
        at += frame_bytes(view, at)
    return at, False


def open_link(endpoint: Endpoint, name: str, first_address: int = 0, connect_s: float = CONNECT_S) -> AmqpLink:
    """A connection to the first address that gives one. Raises BrokerError."""
    said: list[str] = []
    refused = False
    for address in addresses_from(endpoint, first_address):
        try:
            return AmqpLink(address, endpoint.security, name, connect_s)
        except ClosedByServerError as e:
            refused |= e.code == 403
            said.append(f"{address}: {e}")
        except (OSError, AMQPError) as e:
            said.append(f"{address}: {str(e) or type(e).__name__}")
    hint = "check user and password" if refused else "is the server running, and does it want TLS?"
    raise BrokerError(f"cannot connect to RabbitMQ: {'; '.join(said)}", hint=hint)
