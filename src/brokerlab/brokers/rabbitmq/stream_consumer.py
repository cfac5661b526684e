"""Receiving from streams by the stream protocol. A group is a name under which the server keeps offsets."""

from __future__ import annotations

import struct
import time
from dataclasses import dataclass

import numpy as np

from brokerlab.brokers.kit.arrived import Arrived
from brokerlab.brokers.kit.link import reading_frames
from brokerlab.brokers.kit.reconnecting import ReconnectingConsumer
from brokerlab.brokers.rabbitmq import stream
from brokerlab.brokers.rabbitmq.chunks import read_chunk, read_head
from brokerlab.brokers.rabbitmq.names import stream_name
from brokerlab.brokers.rabbitmq.settings import client_setting
from brokerlab.model.blocks import Deliveries
from brokerlab.model.plan import AgentPlan

_LAST, _OFFSET = struct.pack(">H", 2), 4
_END_QUERY = 255  # a subscription that only asks where a stream ends
_END_S = 10.0


@dataclass(frozen=True)
class Token:
    """What `acknowledge` needs: the last offset of a delivery, and how many messages of its stream had been handed out
    with it on that connection."""

    link: stream.StreamLink
    number: int
    offset: int
    count: int


class StreamConsumer(ReconnectingConsumer[stream.StreamLink, tuple[int, Arrived]]):
    """See brokers.contract.Consumer. Consumer n of a group of m reads every m-th stream, beginning with the n-th.

    What has arrived: the number of the stream, and messages of it.
    """

    link_class = stream.StreamLink
    path = stream.PATH

    def __init__(self, plan: AgentPlan, number: int) -> None:
        super().__init__(plan, number)
        assert plan.consumers is not None
        self._credit = client_setting(plan, "credit")
        every = [stream_name(d, p) for d in plan.destinations for p in range(plan.partitions)]
        self._streams = every[number % plan.consumers.per_group :: plan.consumers.per_group]
        self._next = [0] * len(self._streams)  # the offset that is read next
        self._ends: dict[int, int] = {}
        self._start_reading()

    def _begin(self, link: stream.StreamLink) -> None:
        """From where the group has stored that it was, else from the first message on."""
        # Counted by stream, on this connection: what came, what was handed out, what was acknowledged.
        self._came, self._handed, self._done = ([0] * len(self._streams) for _ in range(3))
        link.on_frame = self._on_frame
        for number, name in enumerate(self._streams):
            try:
                answer = link.call(stream.QUERY_OFFSET, stream.text(self._group) + stream.text(name))
                with reading_frames():
                    start = struct.unpack_from(">q", answer)[0] + 1
            except stream.StreamRefusedError as e:
                if e.code != stream.NO_OFFSET:
                    raise
                start = 0
            self._next[number] = start
            where = struct.pack(">HQ", _OFFSET, start)
            content = bytes([number]) + stream.text(name) + where + struct.pack(">HI", self._credit, 0)
            link.call(stream.SUBSCRIBE, content)

    def _on_frame(self, key: int, content: bytes) -> None:
        if key == stream.METADATA_UPDATE:
            raise ConnectionResetError("the stream has moved")
        if key != stream.DELIVER:
            return
        number = content[0]
        if number == _END_QUERY:
            head = read_head(content, 1)
            self._ends[number] = head.first_position + head.records
            return
        chunk = read_chunk(content, 1, time.monotonic_ns())
        if chunk is not None:
            # A subscription begins with the whole chunk in which its offset lies.
            chunk = chunk.part(slice(int(np.searchsorted(chunk.positions, self._next[number])), None))
        if chunk is None or len(chunk) == 0:
            self._give_credit(number)
            return
        self._next[number] = int(chunk.positions[-1]) + 1
        self._came[number] += len(chunk)
        self._arrived.append((number, chunk))

    def _give_credit(self, number: int) -> None:
        """One more chunk may come; asked for only when one has been handed out, so that few wait here."""
        if self._link is not None:
            self._link.send(stream.CREDIT, struct.pack(">BH", number, 1))

    def _hand_out(self, most: int) -> Deliveries:
        assert self._link is not None
        link = self._link
        number, chunk = self._arrived.popleft()
        some, rest = chunk.split(most)
        if rest is not None:
            self._arrived.appendleft((number, rest))
        else:
            self._or_lose(lambda: self._give_credit(number))
        self._handed[number] += len(some)
        token = Token(link, number, int(some.positions[-1]), self._handed[number])
        if self._automatic:
            self._store(token)
        return some.deliveries(token)

    def acknowledge(self, deliveries: Deliveries) -> None:
        if isinstance(deliveries.token, Token) and not self._automatic:
            self._store(deliveries.token)

    def _store(self, token: Token) -> None:
        """Everything up to and with this delivery is done. One of a lost connection comes again anyway."""
        if token.link is not self._link or token.count <= self._done[token.number]:
            return
        self._done[token.number] = token.count
        name = self._streams[token.number]
        content = stream.text(self._group) + stream.text(name) + struct.pack(">Q", token.offset)
        self._or_lose(lambda: token.link.send(stream.STORE_OFFSET, content))

    def remaining(self) -> int | None:
        """What came and is not acknowledged, exactly, and how far ahead the last chunk that a quorum has ends. The latter
        may count entries in which the server keeps offsets of groups: too many for a moment, never too few."""
        if self._link is None:
            return None
        try:
            ends = [self._end(self._link, name) for name in self._streams]
        except OSError:
            self._lose()
            return None
        held = sum(self._came) - sum(self._done)
        return held + sum(max(0, end - at) for end, at in zip(ends, self._next, strict=True))

    def _end(self, link: stream.StreamLink, name: str) -> int:
        """The offset behind a stream's last message: its last chunk is asked for, since statistics name only where
        that begins."""
        stats = _read_stats(link.call(stream.STREAM_STATS, stream.text(name)))
        if stats.get("committed_chunk_id", stats.get("committed_offset", -1)) < 0:
            return 0
        self._ends.pop(_END_QUERY, None)
        query = bytes([_END_QUERY])
        link.call(stream.SUBSCRIBE, query + stream.text(name) + _LAST + struct.pack(">HI", 1, 0))
        until = time.monotonic() + _END_S
        while _END_QUERY not in self._ends:
            if time.monotonic() > until:
                raise TimeoutError(f"{name} does not show its last chunk")
            if not link.pump():
                link.wait(0.1)
        link.call(stream.UNSUBSCRIBE, query)
        return self._ends[_END_QUERY]


def _read_stats(answer: bytes) -> dict[str, int]:
    """A list of names with numbers. Raises OSError."""
    at, found = 4, {}
    with reading_frames():
        (count,) = struct.unpack_from(">I", answer)
        for _ in range(count):
            (size,) = struct.unpack_from(">H", answer, at)
            name = answer[at + 2 : at + 2 + size].decode()
            (found[name],) = struct.unpack_from(">q", answer, at + 2 + size)
            at += 10 + size
    return found
