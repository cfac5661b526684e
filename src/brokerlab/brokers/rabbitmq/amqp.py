"""An AMQP 0.9.1 connection with one channel. Messages go through `frames`; everything else through pika's codec."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

from pika import frame, spec
from pika.exceptions import AMQPError

from brokerlab.brokers.kit.link import CALL_S, CONNECT_S, Link, RefusedError, reading_frames
from brokerlab.brokers.rabbitmq.frames import FRAME_OVERHEAD, frame_bytes
from brokerlab.brokers.rabbitmq.names import GUEST, HEARTBEAT_S
from brokerlab.model.plan import Security

CHANNEL = 1
FRAME_LEAST, FRAME_MAX = 4096, 131_072  # AMQP's least, and ours
PATH = f"python (AMQP 0.9.1 frames made in blocks; other methods by pika {version('pika')})"


class ClosedByServerError(RefusedError):
    """The server closed the channel or the connection and said why."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(f"{code} {text}", code)


class AmqpLink(Link):
    """With channel 1 open.

    `on_frames` gets all bytes that have come and not been read, a view that is valid during the call only. It returns
    how many it has understood, whole frames of channel 1, and whether it must see more before it understands what
    follows. Otherwise the next frame is read by pika and given to `on_method` (a method, or the properties of a
    content header).
    """

    listener = "RabbitMQ"
    wrong_password = 403
    anonymous = GUEST
    heartbeat_s = HEARTBEAT_S

    def __init__(self, address: str, security: Security | None, name: str, connect_s: float = CONNECT_S) -> None:
        self._answers: list[Any] = []
        self.on_frames: Callable[[memoryview], tuple[int, bool]] | None = None
        self.on_method: Callable[[Any], None] | None = None
        self.blocked = False  # the server's memory or disk alarm: it reads nothing more from publishers
        super().__init__(address, security, name, connect_s)

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
        if self.frame_max < FRAME_LEAST:
            raise OSError(f"unreadable greeting: frames of at most {self.frame_max} bytes")
        # channel_max 0 would mean "no limit", which RabbitMQ refuses.
        self._send(0, spec.Connection.TuneOk(min(2047, tune.channel_max or 2047), self.frame_max, HEARTBEAT_S))
        self._send(0, spec.Connection.Open("/"))
        self._expect(spec.Connection.OpenOk, until)
        self._send(CHANNEL, spec.Channel.Open())
        self._expect(spec.Channel.OpenOk, until)

    def call(self, method: Any, seconds: float = CALL_S) -> Any:
        """Send a method of our channel and wait for its answer. What comes meanwhile goes where it always goes."""
        self._send(CHANNEL, method)
        kind, _, name = method.NAME.partition(".")
        return self._expect(getattr(getattr(spec, kind), f"{name}Ok"), time.monotonic() + seconds)

    def _send(self, channel: int, method: Any) -> None:
        try:
            data = frame.Method(channel, method).marshal()
        except AMQPError as e:
            raise OSError(f"{method.NAME} cannot be written: {type(e).__name__}") from e
        self.write(data)

    def _expect(self, kind: type, until: float) -> Any:
        while True:
            for at, answer in enumerate(self._answers):
                if isinstance(answer, kind):
                    return self._answers.pop(at)
            self._read_or_wait(until, kind.__name__)

    def _send_heartbeat(self) -> None:
        self.write(frame.Heartbeat().marshal())

    def _take_frames(self) -> None:
        with reading_frames():
            self._take_whole_frames()

    def _take_whole_frames(self) -> None:
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
            except AMQPError as e:
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
        if isinstance(method, spec.Connection.Close | spec.Channel.Close):
            whole = isinstance(method, spec.Connection.Close)
            with contextlib.suppress(OSError):
                self._send(0 if whole else CHANNEL, (spec.Connection if whole else spec.Channel).CloseOk())
            raise ClosedByServerError(method.reply_code, method.reply_text)
        if isinstance(method, spec.Connection.Blocked):
            self.blocked = True
        elif isinstance(method, spec.Connection.Unblocked):
            self.blocked = False
        elif method.NAME.endswith(("Ok", "Start", "Tune")):
            self._answers.append(method)
        elif self.on_method is not None:
            self.on_method(method)

    def _say_goodbye(self, until: float) -> None:
        self.on_frames = _ignore
        self._send(0, spec.Connection.Close(200, "done", 0, 0))
        self._expect(spec.Connection.CloseOk, until)


def _ignore(view: memoryview) -> tuple[int, bool]:
    """Skip whole frames of our channel; those of channel 0 are still wanted."""
    at = 0
    while at + FRAME_OVERHEAD <= len(view) and view[at + 2] == CHANNEL and at + frame_bytes(view, at) <= len(view):
        at += frame_bytes(view, at)
    return at, False
