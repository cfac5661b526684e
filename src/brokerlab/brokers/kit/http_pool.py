"""Several HTTP connections of one client, each with at most one open request, as servers expect it."""

from __future__ import annotations

import select
import time
from dataclasses import dataclass
from typing import Generic, TypeVar

from brokerlab.brokers.kit.http_link import HttpAnswer, HttpLink, UnreadableAnswerError
from brokerlab.brokers.kit.link import RefusedError
from brokerlab.brokers.kit.reconnecting import RECONNECT_EVERY_S, RECONNECT_S
from brokerlab.errors import BrokerError
from brokerlab.model.plan import Endpoint

Tag = TypeVar("Tag")


@dataclass(eq=False)
class _Connection(Generic[Tag]):
    link: HttpLink | None
    tag: Tag | None = None  # what its open request is about
    until: float = 0.0  # when its answer is waited for no longer
    is_unproven: bool = False  # made again, and nothing was answered on it since

    @property
    def is_idle(self) -> bool:
        return self.link is not None and self.tag is None and not self.is_unproven


class HttpPool(Generic[Tag]):
    """All connections are made when the constructor returns; raises BrokerError where that fails. Lost ones are made
    again while it is pumped, and used when the server has answered `proof` on them: a request that changes nothing. HTTP
    has no greeting, and something before the server may take a connection that leads nowhere. A request that was begun
    is never sent again: whoever asked learns that it was lost."""

    def __init__(self, endpoint: Endpoint, name: str, count: int, answer_s: float, proof: bytes) -> None:
        self._endpoint, self._name, self._answer_s, self._proof = endpoint, name, answer_s, proof
        self._connections: list[_Connection[Tag]] = []
        self._done: list[tuple[Tag, HttpAnswer | OSError]] = []
        self._retry_at = 0.0
        self.lost_since: float | None = None  # while there is no connection at all
        try:
            for _ in range(count):
                self._connections.append(_Connection(HttpLink.open(endpoint, name)))
        except BrokerError:
            self.close(0)
            raise

    @property
    def idle(self) -> int:
        """How many requests can be sent now."""
        return sum(1 for c in self._connections if c.is_idle)

    def open_tags(self) -> list[Tag]:
        return [c.tag for c in self._connections if c.tag is not None]

    def ask(self, request: bytes, tag: Tag) -> None:
        """On an idle connection: there must be one."""
        free = next(c for c in self._connections if c.is_idle)
        assert free.link is not None
        free.tag, free.until = tag, time.monotonic() + self._answer_s
        try:
            free.link.write(request)
        except OSError as e:
            self._lose(free, e)

    def drop_closed(self) -> None:
        """Idle connections that were ended since the last `pump`: a request on one of them would be lost for nothing."""
        for one in self._connections:
            if one.is_idle and one.link is not None:
                self._read(one, time.monotonic())

    def pump(self) -> list[tuple[Tag, HttpAnswer | OSError]]:
        """What became of open requests, without waiting: their answers, or why none will come."""
        now = time.monotonic()
        for one in self._connections:
            if one.link is not None:
                self._read(one, now)
        self._reconnect(now)
        done, self._done = self._done, []
        return done

    def _read(self, one: _Connection[Tag], now: float) -> None:
        assert one.link is not None
        try:
            one.link.pump()
            self._take(one, now)
        except OSError as e:
            self._lose(one, e)

    def _take(self, one: _Connection[Tag], now: float) -> None:
        assert one.link is not None
        is_asked = one.tag is not None or one.is_unproven
        if one.link.answers:
            if not is_asked or len(one.link.answers) > 1:
                raise UnreadableAnswerError("an answer came that was not asked for")
            answer = one.link.answers.popleft()
            if one.tag is not None:
                self._done.append((one.tag, answer))
            one.tag, one.is_unproven = None, False
            if answer.closes:
                raise ConnectionResetError("the server closed the connection")
        elif is_asked and now > one.until:
            raise TimeoutError("no answer in time")

    def _lose(self, one: _Connection[Tag], error: OSError) -> None:
        if one.link is not None:
            one.link.abandon()
        if one.tag is not None:
            self._done.append((one.tag, error))
        one.link, one.tag, one.is_unproven = None, None, False

    def _reconnect(self, now: float) -> None:
        """Those that are lost, one after the other, until one cannot be had: a caller must not wait for all of them."""
        for one in self._connections:
            if one.link is not None or now < self._retry_at:
                continue
            try:
                address = HttpLink.addresses(self._endpoint, 0)[0]
                one.link = HttpLink(address, self._endpoint.security, self._name, RECONNECT_S)
                one.is_unproven, one.until = True, time.monotonic() + self._answer_s
                one.link.write(self._proof)
            except OSError as e:
                self._lose(one, e)
                self._retry_at = time.monotonic() + RECONNECT_EVERY_S
        connected = any(c.link is not None and not c.is_unproven for c in self._connections)
        self.lost_since = None if connected else self.lost_since or now

    def watched(self) -> list[tuple[int, bool]]:
        """See brokers.contract.Watchable."""
        return [c.link.watched() for c in self._connections if c.link is not None]

    def wait(self, seconds: float) -> None:
        """Until a socket has something to say, `seconds` at most."""
        poll = select.poll()
        sockets = self.watched()
        for number, unsent in sockets:
            poll.register(number, select.POLLIN | (select.POLLOUT if unsent else 0))
        poll.poll(max(0.0, (seconds if sockets else min(seconds, RECONNECT_EVERY_S)) * 1000))

    def close(self, deadline_mono_ns: int) -> None:
        """What is written goes out, at the deadline at the latest; answers are not waited for. Idempotent."""
        for one in self._connections:
            if one.link is not None:
                one.link.close(deadline_mono_ns)
            one.link, one.tag = None, None
        self._retry_at = float("inf")
        self._done.clear()


def lost_words(error: OSError) -> str:
    """The kind of error for a request whose connection was lost: the same words however it happened."""
    known = isinstance(error, RefusedError | UnreadableAnswerError | TimeoutError)
    return str(error) if known and str(error) else "connection lost"
