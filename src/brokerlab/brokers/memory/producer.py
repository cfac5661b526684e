"""Publishing: one frame for a block, settlements as ranges."""

from __future__ import annotations

import numpy as np

from brokerlab.brokers.kit.reconnecting import ReconnectingProducer
from brokerlab.brokers.kit.unconfirmed import Unconfirmed
from brokerlab.brokers.memory.connection import MemoryLink
from brokerlab.brokers.memory.protocol import PUBLISH, PUBLISH_HEAD, SETTLED, SETTLED_RANGE, frame
from brokerlab.model.blocks import REJECTED, Block
from brokerlab.model.plan import AgentPlan

PENDING_BYTES = 1 << 20


class MemoryProducer(ReconnectingProducer[MemoryLink]):
    """See brokers.contract.Producer."""

    path = "python (numpy frames)"
    link_class = MemoryLink
    _overhead_bytes = 8  # a length and a partition

    def __init__(self, plan: AgentPlan, number: int) -> None:
        super().__init__(plan, number, PENDING_BYTES)
        self._plan = plan
        self._unconfirmed = Unconfirmed(0)  # numbered by us, over all connections
        self._next_id = 0
        self._start(otherwise="the server did not answer")

    def _begin(self, link: MemoryLink) -> None:
        link.subscribe(self._plan.destinations, self._plan.partitions)
        link.on_frame = self._on_frame

    def _encode(self, block: Block) -> bytes:
        data = _publish_frame(block, self._next_id)
        self._next_id += len(block)
        return data

    def _on_frame(self, kind: int, body: bytes) -> None:
        if kind == SETTLED:
            for first, last, outcome in np.frombuffer(body, SETTLED_RANGE).tolist():
                settled = self._unconfirmed.confirm(np.arange(first, last + 1, dtype=np.int64))
                self._settling.add(settled, outcome, "refused" if outcome == REJECTED else None)


def _publish_frame(block: Block, first_id: int) -> bytes:
    offsets, lengths = block.offsets, block.lengths
    start, end = int(offsets[0]), int(offsets[-1]) + int(lengths[-1])
    if bool((offsets[1:] == offsets[:-1] + lengths[:-1]).all()):
        payload = block.buffer[start:end].tobytes()
    else:
        payload = b"".join(block.payloads())
    columns = lengths.astype("<i4").tobytes() + block.partitions.astype("<i4").tobytes()
    return frame(PUBLISH, PUBLISH_HEAD.pack(first_id, len(block)), columns, payload)
