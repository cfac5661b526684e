"""Publishing to streams by the stream protocol: a message's publishing id is its number."""

from __future__ import annotations

import struct
import time

import numpy as np

from brokerlab.brokers.rabbitmq import stream
from brokerlab.brokers.rabbitmq.chunks import MESSAGE_PREFIX_BYTES, message_prefix
from brokerlab.brokers.rabbitmq.frames import payload_rows
from brokerlab.brokers.rabbitmq.names import stream_name
from brokerlab.brokers.rabbitmq.outcomes import outcome_of_stream_code
from brokerlab.brokers.rabbitmq.settings import client_setting, confirm_window
from brokerlab.brokers.rabbitmq.settling import Settling
from brokerlab.brokers.rabbitmq.unconfirmed import Unconfirmed
from brokerlab.errors import BrokerError
from brokerlab.model.blocks import ACKNOWLEDGED, UNKNOWN, Block, Settlements
from brokerlab.model.plan import AgentPlan

RECONNECT_EVERY_S = 0.2
RECONNECT_S = 2.0
_OVERHEAD_BYTES = 12 + MESSAGE_PREFIX_BYTES  # of each message: its id, its size, the head of its AMQP 1.0 section


class StreamProducer:
    """See brokers.contract.Producer. A lost connection makes what is open unknown, and is made anew."""

    def __init__(self, plan: AgentPlan, number: int) -> None:
        assert plan.producers is not None
        self.path = f"{stream.PATH}, confirm window {confirm_window(plan.producers)}"
        self._endpoint = plan.endpoint
        self._name = f"{plan.agent}-{number}"
        self._address = number
        self._pending_bytes = client_setting(plan, "pending_bytes")
        self._streams = [stream_name(d, p) for d in plan.destinations for p in range(plan.partitions)]
        self._settling = Settling()
        self._ids = Unconfirmed(0)  # publishing ids are counted by us, over all connections
        self._next_id = 0
        self._retry_at = 0.0
        self._link: stream.StreamLink | None = None
        link = stream.open_stream_link(self._endpoint, self._name, number)
        try:
            self._use(link)
        except OSError as e:
            link.abandon()
            raise BrokerError(f"cannot publish to {self._streams[0]}: {e}") from e

    def _use(self, link: stream.StreamLink) -> None:
        for number, name in enumerate(self._streams):
            reference = stream.text("")  # no name, so that the server does not take equal ids for duplicates
            link.call(stream.DECLARE_PUBLISHER, bytes([number]) + reference + stream.text(name))
        link.on_frame = self._on_frame
        self._link = link

    def send(self, block: Block) -> int:
        link = self._link
        if len(block) == 0 or link is None:
            return 0
        room = min(self._pending_bytes - link.unsent_bytes, link.frame_max - 64)
        if room <= 0:
            return 0
        sizes = np.cumsum(block.lengths + _OVERHEAD_BYTES, dtype=np.int64)
        count = max(1, int(np.searchsorted(sizes, room, side="right")))
        some = block
        if count < len(block):
            some = Block(
                block.buffer, block.offsets[:count], block.lengths[:count], block.partitions[:count], block.first_index
            )
        data = publish_frames(some, self._next_id)
        self._ids.add(some.first_index, len(some))
        self._next_id += len(some)
        try:
            link.write(data)
        except OSError:
            self._lose("connection lost")
        return len(some)

    def settled(self) -> Settlements:
        if self._link is None:
            self._reconnect()
        else:
            try:
                self._link.pump()
            except stream.StreamRefusedError as e:
                self._lose(f"closed by the server: {e}")
            except OSError:
                self._lose("connection lost")
        return self._settling.take()

    def _on_frame(self, key: int, content: bytes) -> None:
        if key == stream.PUBLISH_CONFIRM:
            ids = np.frombuffer(content, ">u8", int.from_bytes(content[1:5]), 5).astype(np.int64)
            self._settling.add(self._ids.confirm(ids), ACKNOWLEDGED)
        elif key == stream.PUBLISH_ERROR:
            for number, code in struct.iter_unpack(">QH", content[5:]):
                outcome, error = outcome_of_stream_code(code)
                self._settling.add(self._ids.confirm(np.array([number], np.int64)), outcome, error)
        elif key == stream.METADATA_UPDATE:
            # The stream has a new leader or is gone; its publisher on this connection is dead either way.
            raise ConnectionResetError("the stream has moved")

    def _lose(self, said: str) -> None:
        self._settling.add(self._ids.confirm_all(), UNKNOWN, said)
        if self._link is not None:
            self._link.abandon()
        self._link = None
        self._retry_at = time.monotonic() + RECONNECT_EVERY_S

    def _reconnect(self) -> None:
        if time.monotonic() < self._retry_at:
            return
        self._address += 1
        try:
            address = stream.stream_address(self._endpoint, self._address)
            link = stream.StreamLink(address, self._endpoint.security, self._name, RECONNECT_S)
        except OSError:
            self._retry_at = time.monotonic() + RECONNECT_EVERY_S
            return
        try:
            self._use(link)
        except OSError:
            link.abandon()
            self._retry_at = time.monotonic() + RECONNECT_EVERY_S

    def close(self, deadline_mono_ns: int) -> None:
        if self._link is not None:
            self._link.close(deadline_mono_ns)
            self._link = None
            self._retry_at = float("inf")


def publish_frames(block: Block, first_id: int) -> bytes:
    """One Publish frame for each partition in the block; message i has the publishing id first_id + i."""
    frames = []
    payloads: list[bytes] | None = None
    size = int(block.lengths[0])
    rows = payload_rows(block, size) if bool((block.lengths == size).all()) else None
    ids = np.arange(first_id, first_id + len(block), dtype=">u8")
    for partition in np.unique(block.partitions).tolist():
        chosen = np.flatnonzero(block.partitions == partition)
        if rows is not None:
            made = np.empty((len(chosen), _OVERHEAD_BYTES + size), np.uint8)
            made[:, :8] = ids[chosen].view(np.uint8).reshape(-1, 8)
            made[:, 8:_OVERHEAD_BYTES] = np.frombuffer(
                struct.pack(">I", size + MESSAGE_PREFIX_BYTES) + message_prefix(size), np.uint8
            )
            made[:, _OVERHEAD_BYTES:] = rows[chosen]
            content = made.tobytes()
        else:
            payloads = block.payloads() if payloads is None else payloads
            parts: list[bytes] = []
            for i in chosen.tolist():
                n = len(payloads[i])
                parts += (struct.pack(">QI", first_id + i, n + MESSAGE_PREFIX_BYTES), message_prefix(n), payloads[i])
            content = b"".join(parts)
        head = struct.pack(">HHBI", stream.PUBLISH, 1, partition, len(chosen))
        frames += [struct.pack(">I", len(head) + len(content)), head, content]
    return b"".join(frames)
