"""A STOMP connection."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

from brokerlab.brokers.kit.link import CALL_S, CONNECT_S, Link, RefusedError
from brokerlab.brokers.kit.stomp_frames import HEART_BEAT, Frame, FrameReader, frame
from brokerlab.model.plan import Security

_OTHER, _WRONG_PASSWORD = range(2)
_DONE = "done"  # the receipt of a frame that is waited for; those of messages are numbers


def refusal(error: Frame) -> RefusedError:
    """What an ERROR frame says, in one line."""
    said = (error.header(b"message") or error.body.partition(b"\n")[0]).decode(errors="replace").replace("\\c", ":")
    return RefusedError(said, _WRONG_PASSWORD if "password is invalid" in said else _OTHER)


def error_name(error: Frame) -> str:
    """The word that an ERROR frame begins with: its body, or its message where it has none."""
    said = (error.body or error.header(b"message") or b"").decode(errors="replace")
    return re.split(r"[:\s]", said, maxsplit=1)[0]


def _ignore(_: object) -> None:
    """What comes is of no interest to the owner of the connection."""


def _refuse(error: Frame) -> None:
    raise refusal(error)


class StompLink(Link):
    """See kit.link.Link. Its owner gets the numbers of receipts, messages, and errors, which end it unless the owner
    knows better."""

    listener = "the STOMP port"
    wrong_password = _WRONG_PASSWORD
    heartbeat_s = 30

    def __init__(self, address: str, security: Security | None, name: str, connect_s: float = CONNECT_S) -> None:
        self.on_receipts: Callable[[list[int]], None] = _ignore
        self.on_messages: Callable[[list[Frame]], None] = _ignore
        self.on_error: Callable[[Frame], None] = _refuse
        self._reader = FrameReader()
        self._answers: list[Frame] = []  # to what was asked by `call`, and CONNECTED
        super().__init__(address, security, name, connect_s)

    def _handshake(self, name: str, user: str, password: str, until: float) -> None:  # noqa: ARG002
        beat_ms = self.heartbeat_s * 1000
        headers = {"accept-version": "1.2", "host": "localhost", "heart-beat": f"{beat_ms},{beat_ms}"}
        login = {"login": user, "passcode": password} if user else {}
        self.write(frame("CONNECT", headers | login))
        self._answer("CONNECTED", until)

    def call(self, command: str, headers: dict[str, str], seconds: float = CALL_S) -> None:
        """Send a frame, and wait until the server has done what it says."""
        self.write(frame(command, {**headers, "receipt": _DONE}))
        self._answer(f"receipt of {command}", time.monotonic() + seconds)

    def _answer(self, awaited: str, until: float) -> None:
        while not self._answers:
            self._read_or_wait(until, awaited)
        self._answers.pop()

    def _take_frames(self) -> None:
        receipts, frames = self._reader.feed(bytes(self._buffer))
        self._buffer.clear()
        if receipts:
            self.on_receipts(receipts)
        messages = [f for f in frames if f.command == b"MESSAGE"]
        if messages:
            self.on_messages(messages)
        for other in (f for f in frames if f.command != b"MESSAGE"):
            if other.command == b"ERROR":
                self.on_error(other)
            elif other.command == b"CONNECTED" or other.header(b"receipt-id") == _DONE.encode():
                self._answers.append(other)
            else:
                raise OSError("unreadable answer: a frame that was not asked for")

    def _send_heartbeat(self) -> None:
        self.write(HEART_BEAT)

    def _say_goodbye(self, until: float) -> None:
        self.on_receipts = self.on_messages = _ignore
        self.call("DISCONNECT", {}, until - time.monotonic())
