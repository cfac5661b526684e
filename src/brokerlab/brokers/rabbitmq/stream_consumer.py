"""Receiving from streams by the stream protocol. A group is a name under which the server keeps offsets."""

from __future__ import annotations

import struct
import time
from collections import deque

import numpy as np

from brokerlab.brokers.rabbitmq import stream
from brokerlab.brokers.rabbitmq.chunks import Chunk, read_chunk, read_head
from brokerlab.brokers.rabbitmq.names import stream_name
from brokerlab.brokers.rabbitmq.settings import client_setting
from brokerlab.errors import BrokerError
from brokerlab.model.blocks import Deliveries, no_deliveries
from brokerlab.model.plan import AgentPlan

RECONNECT_EVERY_S = 0.2
RECONNECT_S = 2.0
GIVE_UP_S = 30.0
_FIRST, _LAST, _OFFSET = struct.pack(">H", 1), struct.pack(">H", 2), 4
_END_QUERY = 255  # a subscription that only asks where a stream ends
_END_S = 10.0


class StreamConsumer:
    """See brokers.contract.Consumer. Consumer n of a group of m reads every m-th stream, beginning with the n-th."""

    path = stream.PATH

    def __init__(self, plan: AgentPlan, number: int) -> None:
        assert plan.consumers is not None
        assert plan.group is not None
        self._endpoint = plan.endpoint
        self._name = f"{plan.agent}-{number}"
        self._address = number
        self._group = plan.group
        self._credit = client_setting(plan, "credit")
        self._automatic = plan.consumers.acknowledge == "automatic"
        every = [stream_name(d, p) for d in plan.destinations for p in range(plan.partitions)]
        self._streams = every[number % plan.consumers.per_group :: plan.consumers.per_group]
        self._next = [0] * len(self._streams)  # the offset that is read next
        self._acknowledged = [0] * len(self._streams)  # the offset before which all is acknowledged
        self._arrived: deque[tuple[int, Chunk, int]] = deque()  # stream, messages, when
        self._ends: dict[int, int] = {}
        self._link: stream.StreamLink | None = None
        self._lost_at: float | None = None
        self._retry_at = 0.0
        link = stream.open_stream_link(self._endpoint, self._name, number)
        try:
            self._subscribe(link)
        except OSError as e:
            link.abandon()
            raise BrokerError(f"the group {self._group} cannot be read: {e}") from e

    def _subscribe(self, link: stream.StreamLink) -> None:
        """From where the group has stored that it was, else from the first message on."""
        self._arrived.clear()
        link.on_frame = self._on_frame
        for number, name in enumerate(self._streams):
            try:
                answer = link.call(stream.QUERY_OFFSET, stream.text(self._group) + stream.text(name))
                start = struct.unpack(">Q", answer)[0] + 1
            except stream.StreamRefusedError as e:
                if e.code != stream.NO_OFFSET:
                    raise
                start = 0
            self._next[number] = self._acknowledged[number] = start
            where = struct.pack(">HQ", _OFFSET, start)
            content = bytes([number]) + stream.text(name) + where + struct.pack(">HI", self._credit, 0)
            link.call(stream.SUBSCRIBE, content)
        self._link, self._lost_at = link, None

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
        chunk = read_chunk(content, 1)
        if self._link is not None:
            self._link.send(stream.CREDIT, struct.pack(">BH", number, 1))
        if chunk is None:
            return
        # A subscription begins with the whole chunk in which its offset lies.
        chunk = chunk.part(slice(int(np.searchsorted(chunk.positions, self._next[number])), None))
        if len(chunk):
            self._next[number] = int(chunk.positions[-1]) + 1
            self._arrived.append((number, chunk, time.monotonic_ns()))

    def receive(self, most: int, deadline_mono_ns: int) -> Deliveries:
        while True:
            self._step()
            if self._arrived:
                return self._hand_out(most)
            left_s = (deadline_mono_ns - time.monotonic_ns()) / 1e9
            if left_s <= 0:
                return no_deliveries(time.monotonic_ns())
            if self._link is not None:
                self._link.wait(left_s)
            else:
                time.sleep(min(left_s, RECONNECT_EVERY_S))

    def _step(self) -> None:
        if self._link is None:
            self._reconnect()
            return
        try:
            self._link.pump()
        except OSError:
            self._lose()

    def _lose(self) -> None:
        if self._link is not None:
            self._link.abandon()
        self._link = None
        self._lost_at = time.monotonic()
        self._retry_at = 0.0

    def _reconnect(self) -> None:
        now = time.monotonic()
        assert self._lost_at is not None
        if now < self._retry_at:
            return
        self._retry_at = now + RECONNECT_EVERY_S
        self._address += 1
        link = None
        try:
            address = stream.stream_address(self._endpoint, self._address)
            link = stream.StreamLink(address, self._endpoint.security, self._name, RECONNECT_S)
            self._subscribe(link)
        except OSError as e:
            if link is not None:
                link.abandon()
            if now - self._lost_at > GIVE_UP_S:
                raise BrokerError(f"the connection could not be made again for {GIVE_UP_S:.0f} s: {e}") from e

    def _hand_out(self, most: int) -> Deliveries:
        number, chunk, at_mono_ns = self._arrived.popleft()
        if len(chunk) > most:
            self._arrived.appendleft((number, chunk.part(slice(most, None)), at_mono_ns))
            chunk = chunk.part(slice(None, most))
        made = Deliveries(
            addresses=chunk.starts.astype(np.uint64) + np.uint64(chunk.buffer.ctypes.data),
            lengths=chunk.lengths,
            arrived_mono_ns=at_mono_ns,
            positions=chunk.positions,
            redelivered=np.zeros(len(chunk), np.uint8),  # the stream protocol does not say
            buffer=chunk.buffer,
            token=(number, int(chunk.positions[-1])),
        )
        if self._automatic:
            self._store(number, int(chunk.positions[-1]))
        return made

    def acknowledge(self, deliveries: Deliveries) -> None:
        if len(deliveries) and not self._automatic:
            self._store(*deliveries.token)  # type: ignore[misc]

    def _store(self, number: int, offset: int) -> None:
        """Everything up to and with this offset is done."""
        if offset < self._acknowledged[number]:
            return
        self._acknowledged[number] = offset + 1
        if self._link is None:
            return
        content = stream.text(self._group) + stream.text(self._streams[number]) + struct.pack(">Q", offset)
        try:
            self._link.send(stream.STORE_OFFSET, content)
        except OSError:
            self._lose()

    def remaining(self) -> int | None:
        """From what the group has acknowledged to the end of the last chunk that a quorum has."""
        if self._link is None:
            return None
        left = 0
        try:
            for number, name in enumerate(self._streams):
                left += max(0, self._end(self._link, name) - self._acknowledged[number])
        except OSError:
            self._lose()
            return None
        return left

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

    def close(self, deadline_mono_ns: int) -> None:
        if self._link is not None:
            self._link.close(deadline_mono_ns)
            self._link = None
            self._lost_at = time.monotonic()


def _read_stats(answer: bytes) -> dict[str, int]:
    """A list of names with numbers."""
    (count,) = struct.unpack_from(">I", answer)
    at, found = 4, {}
    for _ in range(count):
        (size,) = struct.unpack_from(">H", answer, at)
        name = answer[at + 2 : at + 2 + size].decode()
        (found[name],) = struct.unpack_from(">q", answer, at + 2 + size)
        at += 10 + size
    return found
