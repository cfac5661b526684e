"""Producers and consumers that speak STOMP. Names of destinations and broker-specific headers come from folders."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from brokerlab.brokers.kit.http_reader import MISREAD
from brokerlab.brokers.kit.numbers import number_in_text
from brokerlab.brokers.kit.outcomes import OutcomeTable
from brokerlab.brokers.kit.reconnecting import ReconnectingConsumer, ReconnectingProducer
from brokerlab.brokers.kit.stomp_frames import Frame, SendEncoder, acknowledgements
from brokerlab.brokers.kit.stomp_link import StompLink, error_name, refusal
from brokerlab.brokers.kit.unconfirmed import Unconfirmed
from brokerlab.errors import BrokerError
from brokerlab.model.blocks import ACKNOWLEDGED, Block, Deliveries
from brokerlab.model.plan import AgentPlan

_PATH = "python (STOMP 1.2 frames)"
_MODES = {"automatic": "auto", "batch": "client", "each": "client-individual"}


class StompProducer(ReconnectingProducer[StompLink]):
    """See brokers.contract.Producer. A SEND frame for each message, settled by its receipt.

    `destinations` are by the cell's partition numbers; `headers` go with every frame; `outcomes` knows what
    `error_name` may find.
    """

    link_class = StompLink
    path = _PATH

    def __init__(
        self,
        plan: AgentPlan,
        number: int,
        destinations: Sequence[str],
        headers: Mapping[str, str],
        outcomes: OutcomeTable,
        pending_bytes: int,
    ) -> None:
        super().__init__(plan, number, pending_bytes)
        self._encoder = SendEncoder(destinations, headers)
        self._overhead_bytes = self._encoder.overhead_bytes
        self._outcomes = outcomes
        self._start(otherwise="no messages can be sent")

    def _begin(self, link: StompLink) -> None:
        link.on_receipts, link.on_error = self._on_receipts, self._on_error
        self._unconfirmed = Unconfirmed()  # receipts are numbered by connection
        self._next_receipt = 1

    def _encode(self, block: Block) -> bytes:
        first = self._next_receipt
        self._next_receipt += len(block)
        return self._encoder.encode(block, first)

    def _on_receipts(self, numbers: list[int]) -> None:
        self._settling.add(self._unconfirmed.confirm(np.array(numbers, np.int64)), ACKNOWLEDGED)

    def _on_error(self, error: Frame) -> None:
        """One that names a receipt is about that message only."""
        receipt = error.header(b"receipt-id")
        if receipt is None or not receipt.isdigit():
            raise refusal(error)
        tag = np.array([number_in_text(receipt)])
        self._settling.add(self._unconfirmed.confirm(tag), self._outcomes.of(error_name(error)), str(refusal(error)))


@dataclass(frozen=True)
class Chunk:
    """MESSAGE frames that came with one read of one connection."""

    link: StompLink
    frames: list[Frame]
    at_mono_ns: int


class StompConsumer(ReconnectingConsumer[StompLink, Chunk]):
    """See brokers.contract.Consumer."""

    link_class = StompLink
    path = _PATH

    def __init__(self, plan: AgentPlan, number: int) -> None:
        super().__init__(plan, number)
        assert plan.consumers is not None
        self._mode = _MODES[plan.consumers.acknowledge]

    @abstractmethod
    def _subscriptions(self) -> list[dict[str, str]]:
        """Headers of SUBSCRIBE frames, without `id` and `ack`."""

    def _begin(self, link: StompLink) -> None:
        link.on_messages = lambda frames: self._arrived.append(Chunk(link, frames, time.monotonic_ns()))
        for number, headers in enumerate(self._subscriptions()):
            link.call("SUBSCRIBE", {"id": str(number), "ack": self._mode, **headers})

    def _hand_out(self, most: int) -> Deliveries:
        chunk = self._arrived.popleft()
        if len(chunk.frames) > most:
            self._arrived.appendleft(replace(chunk, frames=chunk.frames[most:]))
            chunk = replace(chunk, frames=chunk.frames[:most])
        again = np.array([b"\nredelivered:true" in f.head for f in chunk.frames], np.uint8)
        return Deliveries.from_payloads(
            [f.body for f in chunk.frames], chunk.at_mono_ns, redelivered=again, token=chunk
        )

    @abstractmethod
    def _waiting(self) -> int | None:
        """Messages that the broker holds, delivered or not; None where it does not say. STOMP cannot ask for it: may raise
        BrokerError where the folder's way does not work either."""

    def remaining(self) -> int | None:
        """What is acknowledged automatically the broker holds no more."""
        try:
            waiting = self._waiting()
        except (BrokerError, *MISREAD):
            return None
        here = sum(len(chunk.frames) for chunk in self._arrived) if self._automatic else 0
        return None if waiting is None else waiting + here

    def acknowledge(self, deliveries: Deliveries) -> None:
        chunk = deliveries.token
        if self._automatic or not isinstance(chunk, Chunk) or chunk.link is not self._link:
            return
        frames = chunk.frames
        if self._mode == "client":  # the last of a subscription speaks for all before it
            frames = list({f.header(b"subscription"): f for f in frames}.values())
        try:
            chunk.link.write(acknowledgements(frames))
        except OSError:
            self._lose()
