"""Publishing to streams by the stream protocol: a message's publishing id is its number."""

from __future__ import annotations

import struct

import numpy as np

from brokerlab.brokers.kit.reconnecting import ReconnectingProducer
from brokerlab.brokers.kit.rows import joined_rows
from brokerlab.brokers.kit.unconfirmed import Unconfirmed
from brokerlab.brokers.rabbitmq import stream
from brokerlab.brokers.rabbitmq.chunks import MESSAGE_PREFIX_BYTES, message_prefix
from brokerlab.brokers.rabbitmq.names import stream_name
from brokerlab.brokers.rabbitmq.outcomes import outcome_of_stream_code
from brokerlab.brokers.rabbitmq.settings import client_setting, confirm_window
from brokerlab.model.blocks import ACKNOWLEDGED, Block
from brokerlab.model.plan import AgentPlan

_OVERHEAD_BYTES = 12 + MESSAGE_PREFIX_BYTES  # of each message: its id, its size, the head of its AMQP 1.0 section


class StreamProducer(ReconnectingProducer[stream.StreamLink]):
    """See brokers.contract.Producer."""

    link_class = stream.StreamLink
    _overhead_bytes = _OVERHEAD_BYTES

    def __init__(self, plan: AgentPlan, number: int) -> None:
        assert plan.producers is not None
        super().__init__(plan, number, client_setting(plan, "pending_bytes"))
        self.path = f"{stream.PATH}, confirm window {confirm_window(plan.producers)}"
        self._streams = [stream_name(d, p) for d in plan.destinations for p in range(plan.partitions)]
        self._unconfirmed = Unconfirmed(0)  # publishing ids are counted by us, over all connections
        self._next_id = 0
        self._start(otherwise=f"cannot publish to {self._streams[0]}")

    def _begin(self, link: stream.StreamLink) -> None:
        for number, name in enumerate(self._streams):
            reference = stream.text("")  # no name, so that the server does not take equal ids for duplicates
            link.call(stream.DECLARE_PUBLISHER, bytes([number]) + reference + stream.text(name))
        link.on_frame = self._on_frame

    def _room(self, link: stream.StreamLink) -> int:
        return min(super()._room(link), link.frame_max - 64)

    def _encode(self, block: Block) -> bytes:
        data = publish_frames(block, self._next_id)
        self._next_id += len(block)
        return data

    def _on_frame(self, key: int, content: bytes) -> None:
        if key == stream.PUBLISH_CONFIRM:
            ids = np.frombuffer(content, ">u8", int.from_bytes(content[1:5]), 5).astype(np.int64)
            self._settling.add(self._unconfirmed.confirm(ids), ACKNOWLEDGED)
        elif key == stream.PUBLISH_ERROR:
            for number, code in struct.iter_unpack(">QH", content[5:]):
                outcome, error = outcome_of_stream_code(code)
                self._settling.add(self._unconfirmed.confirm(np.array([number], np.int64)), outcome, error)
        elif key == stream.METADATA_UPDATE:
            # The stream has a new leader or is gone; its publisher on this connection is dead either way.
            raise ConnectionResetError("the stream has moved")


def publish_frames(block: Block, first_id: int) -> bytes:
    """One Publish frame for each partition in the block; message i has the publishing id first_id + i."""
    frames = []
    payloads: list[bytes] | None = None
    rows = block.rows()
    ids = np.arange(first_id, first_id + len(block), dtype=">u8")
    for partition in np.unique(block.partitions).tolist():
        chosen = np.flatnonzero(block.partitions == partition)
        if rows is not None:
            size = rows.shape[1]
            prefix = struct.pack(">I", size + MESSAGE_PREFIX_BYTES) + message_prefix(size)
            content = joined_rows(ids[chosen].view(np.uint8).reshape(-1, 8), prefix, rows[chosen])
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
