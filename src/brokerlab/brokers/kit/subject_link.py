"""A connection by the text protocol of subjects."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable
from typing import Any

from brokerlab.brokers.kit.asking import json_object
from brokerlab.brokers.kit.link import CONNECT_S, Link, RefusedError
from brokerlab.brokers.kit.subject_frames import (
    PING,
    PONG,
    Delivered,
    Said,
    SubjectFrameReader,
    publish,
    subscribe,
)
from brokerlab.model.plan import Security

_OTHER, _WRONG_PASSWORD, NO_LISTENER = range(3)
NO_LISTENER_STATUS = b"503"
Handler = Callable[[list[Delivered]], None]


def new_inbox() -> bytes:
    """A subject that no other client uses, ending in a dot."""
    return f"_INBOX.{uuid.uuid4().hex[:16]}.".encode()


class SubjectLink(Link):
    """See kit.link.Link. Messages go to the handlers of their subscriptions, as many at once as came together."""

    listener = "the client port"
    wrong_password = _WRONG_PASSWORD
    greets_in_plain = True
    heartbeat_s = 20

    def __init__(self, address: str, security: Security | None, name: str, connect_s: float = CONNECT_S) -> None:
        self.max_payload_bytes = 1 << 20
        self._reader = SubjectFrameReader()
        self._handlers: dict[int, Handler] = {}
        self._inbox, self._next_call = new_inbox(), 0
        self._answers: dict[bytes, Delivered] = {}  # to calls, by the subject they came to
        self._info: dict[str, Any] | None = None
        self._pongs = 0
        super().__init__(address, security, name, connect_s)

    def _handshake(self, name: str, user: str, password: str, until: float) -> None:
        while self._info is None:
            self._read_or_wait(until, "greeting")
        self.max_payload_bytes = _most_payload(self._info.get("max_payload", self.max_payload_bytes))
        self._agree_on_tls(until, demanded=bool(self._info.get("tls_required")))
        wanted = {"verbose": False, "pedantic": False, "lang": "brokerlab", "version": "1", "protocol": 1, "name": name}
        wanted |= {"headers": True, "no_responders": True}  # then a server says where a subject has no listener
        login = {"user": user, "pass": password} if user else {}
        self.write(f"CONNECT {json.dumps(wanted | login)}\r\n".encode() + PING)
        while not self._pongs:
            self._read_or_wait(until, "PONG")
        self.subscribe(self._inbox + b"*", self._on_answers)

    def _agree_on_tls(self, until: float, *, demanded: bool) -> None:
        """Before anything is sent: a password is not, where TLS was asked for and cannot be had."""
        wanted = self._security is not None and self._security.tls
        if wanted != demanded:
            raise RefusedError("the server demands TLS" if demanded else "the server offers no TLS", _OTHER)
        if wanted:
            self._secure(until)

    def subscribe(self, subject: bytes, handler: Handler) -> None:
        number = len(self._handlers) + 1
        self._handlers[number] = handler
        self.write(subscribe(subject, number))

    def publish(self, subject: bytes, payload: bytes, reply: bytes = b"") -> None:
        self.write(publish(subject, payload, reply))

    def call(self, subject: bytes, payload: bytes, seconds: float) -> bytes:
        """Ask, and wait for the answer. Raises RefusedError with the code NO_LISTENER where the subject has none."""
        self._next_call += 1
        reply, until = b"%b%d" % (self._inbox, self._next_call), time.monotonic() + seconds
        self.publish(subject, payload, reply)
        while reply not in self._answers:
            self._read_or_wait(until, f"answer to {subject.decode(errors='replace')}")
        answer = self._answers.pop(reply)
        if answer.status == NO_LISTENER_STATUS:
            raise RefusedError(f"no server listens to {subject.decode(errors='replace')}", NO_LISTENER, not_yet=True)
        return answer.payload

    def _on_answers(self, answers: list[Delivered]) -> None:
        self._answers.update({answer.subject: answer for answer in answers})

    def _take_frames(self) -> None:
        messages, said = self._reader.feed(bytes(self._buffer))
        self._buffer.clear()
        for one in said:
            self._hear(one)
        by_subscription: dict[int, list[Delivered]] = {}
        for message in messages:
            by_subscription.setdefault(message.subscription, []).append(message)
        for number, some in by_subscription.items():
            handler = self._handlers.get(number)
            if handler is not None:
                handler(some)

    def _hear(self, said: Said) -> None:
        if said.word == b"PING":
            self.write(PONG)
        elif said.word == b"PONG":
            self._pongs += 1
        elif said.word == b"INFO":
            self._info = json_object(said.text)
        elif said.word == b"-ERR":
            text = said.text.decode(errors="replace").strip(" '")
            raise RefusedError(text, _WRONG_PASSWORD if "uthorization" in text else _OTHER)

    def _send_heartbeat(self) -> None:
        self.write(PING)


def _most_payload(said: object) -> int:
    if not isinstance(said, int) or not 0 < said < 1 << 31:
        raise OSError("unreadable greeting: max_payload is not a number of bytes")
    return said
