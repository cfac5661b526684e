"""The Pulsar path in C, for plain connections (native/pulsar_*.c): blocks become batches, deliveries become columns.

pulsar-client calls back into Python for every message; here nothing is done per message but in C. Lookups, greetings and
the opening of producers and consumers are rare, so they are done here, in a thread of their own where something was lost.
"""

from __future__ import annotations

import time

import numpy as np
import numpy.typing as npt

from brokerlab.brokers.contract import NativeCalls
from brokerlab.brokers.kit.protobuf import message
from brokerlab.brokers.pulsar.backlog import Backlog
from brokerlab.brokers.pulsar.client import topics_of
from brokerlab.brokers.pulsar.consumer import ALL_QUEUES, share_of
from brokerlab.brokers.pulsar.opening import Mending, Opened, Opening
from brokerlab.brokers.pulsar.outcomes import ANSWERS
from brokerlab.brokers.pulsar.settings import client_settings_of
from brokerlab.brokers.pulsar.speaking import MESSAGE_MOST, PRODUCER, SUBSCRIBE, error_name
from brokerlab.errors import BrokerError
from brokerlab.model.blocks import ACKNOWLEDGED, Block, Deliveries, Int32s, Settlements
from brokerlab.model.plan import AgentPlan
from brokerlab.native.consuming import RECEIVE_MOST, DeliveryColumns
from brokerlab.native.loader import address, needed_library, strings
from brokerlab.native.producing import Reports, pointer, send_block

PATH = "native (Pulsar protocol in C)"
_NO_BROKERS = {-1: "ConnectionLost", -2: "Timeout", -3: "MessageTooBig"}  # codes of native/pulsar_produce.h
_NAME_MOST = 255
_MS = 1_000_000
_ENDED = -2  # of bl_pulsar_receive
_SHARED, _FAILOVER = 1, 2  # kinds of subscription in PulsarApi.proto
_EARLIEST = 1
_CLOSE_MOST_NS = 5_000_000_000


def judged(codes: Int32s) -> tuple[npt.NDArray[np.uint8], dict[str, int]]:
    """Outcomes of codes of native/pulsar_produce.h, and kinds of errors with their counts."""
    outcomes = np.zeros(len(codes), np.uint8)
    kinds: dict[str, int] = {}
    for code, count in zip(*(a.tolist() for a in np.unique(codes, return_counts=True)), strict=True):
        if code == ACKNOWLEDGED:
            continue
        kind = _NO_BROKERS[code] if code in _NO_BROKERS else error_name(code - 1)
        outcomes[codes == code] = ANSWERS.of(kind)
        kinds[kind] = kinds.get(kind, 0) + count
    return outcomes, kinds


def _settings(plan: AgentPlan, message_most: int) -> npt.NDArray[np.int64]:
    """In the order of bl_pulsar_sender_new."""
    assert plan.producers is not None
    given = client_settings_of(plan.client_settings)
    batching = given["batching_enabled"] == "true"
    values = [
        int(given["batching_max_publish_delay_ms"]) * _MS if batching else 0,
        min(int(given["batching_max_allowed_size_in_bytes"]), message_most),
        int(given["batching_max_messages"]) if batching else 1,
        batching,
        message_most,
        max(int(plan.producers.send_timeout_s * 1e9), 10 * _MS),
    ]
    return np.array(values, np.int64)


class NativeProducer:
    """See brokers.contract.Producer. A partition without a connection takes messages all the same; they wait for one until
    the send timeout."""

    path = PATH

    def __init__(self, plan: AgentPlan, number: int) -> None:  # noqa: ARG002 - all producers are configured alike
        self._lib = needed_library()
        self._reports = Reports()
        topics = topics_of(plan)
        self._down = np.zeros(len(topics), np.int32)
        opening = Opening(
            plan.endpoint.addresses,
            dict(enumerate(topics)),
            lambda lane, request: (PRODUCER, message([(1, topics[lane]), (2, lane + 1), (3, request)])),
            "cannot publish",
        )
        opened = opening.everything()
        self._mending = Mending(opening)
        most = min((one.message_most for one in opened), default=MESSAGE_MOST)
        self._handle: int | None = self._lib.bl_pulsar_sender_new(len(topics), address(_settings(plan, most)))
        for one in opened:
            self._attach(one)

    def _attach(self, one: Opened) -> None:
        lanes = np.array(one.lanes, np.int32)
        read = np.frombuffer(one.read, np.uint8)
        names = strings(name[:_NAME_MOST] for name in one.names)
        self._lib.bl_pulsar_sender_attach(
            self._handle, one.number, address(read), len(read), address(lanes), names, len(lanes)
        )

    def send(self, block: Block) -> int:
        return send_block(self._lib.bl_pulsar_send, self._handle, block)

    def settled(self) -> Settlements:
        n = self._lib.bl_pulsar_settled(self._handle, *self._reports.columns)
        if n < 0:
            self._mend()
        return self._reports.settlements(n, judged)

    def native_calls(self) -> NativeCalls:
        assert self._handle is not None
        return NativeCalls(
            client=self._handle,
            send=pointer(self._lib.bl_pulsar_send),
            settled=pointer(self._lib.bl_pulsar_settled),
            watch=pointer(self._lib.bl_pulsar_watch),
            judged=judged,
        )

    def _mend(self) -> None:
        """One step towards all partitions having a connection again; never waits."""
        down = self._lib.bl_pulsar_sender_down(self._handle, address(self._down), len(self._down))
        for one in self._mending.step(self._down[:down].tolist()):
            self._attach(one)

    def close(self, deadline_mono_ns: int) -> None:
        if self._handle is None:
            return
        self._mending.close()
        self._lib.bl_pulsar_sender_flush(self._handle, deadline_mono_ns)
        self._lib.bl_pulsar_sender_free(self._handle)
        self._handle = None


def _queue(plan: AgentPlan, partitions: int) -> int:
    """How many messages of each partition may wait here."""
    settings = client_settings_of(plan.client_settings)
    return max(min(int(settings["receiver_queue_size"]), int(settings[ALL_QUEUES]) // partitions), 1)


class NativeConsumer:
    """See brokers.contract.Consumer. A lost connection is opened again, and the consumers on it."""

    path = PATH

    def __init__(self, plan: AgentPlan, number: int) -> None:
        assert plan.consumers is not None
        assert plan.group is not None
        self._lib = needed_library()
        topics, shared = share_of(topics_of(plan), number, plan.consumers.per_group)
        self._backlog = Backlog(plan)
        self._automatic = plan.consumers.acknowledge == "automatic"
        self._came = DeliveryColumns()
        self._about = np.zeros(2, np.int64)  # time of arrival, ordinal of the first
        self._columns = (*self._came.pointers, self._came.redelivered_pointer, address(self._about))
        self._down = np.zeros(len(topics), np.int32)
        # Failover, not Exclusive: after a crash the next one may come before the broker has missed the last.
        kind, group, name = _SHARED if shared else _FAILOVER, plan.group, f"{plan.agent}-{number}"

        def subscribe(lane: int, request: int) -> tuple[int, bytes]:
            asked: list[tuple[int, int | str | bytes]] = [
                (1, topics[lane]), (2, group), (3, kind), (4, lane + 1), (5, request), (6, name), (13, _EARLIEST),
            ]  # fmt: skip
            return SUBSCRIBE, message(asked)

        opening = Opening(plan.endpoint.addresses, dict(enumerate(topics)), subscribe, "cannot subscribe")
        opened = opening.everything()
        self._mending = Mending(opening)
        self._handle: int | None = self._lib.bl_pulsar_receiver_new(len(topics), _queue(plan, len(topics)))
        for one in opened:
            self._attach(one)

    def _attach(self, one: Opened) -> None:
        lanes = np.array(one.lanes, np.int32)
        read = np.frombuffer(one.read, np.uint8)
        self._lib.bl_pulsar_receiver_attach(
            self._handle, one.number, address(read), len(read), address(lanes), len(lanes)
        )

    def receive(self, most: int, deadline_mono_ns: int) -> Deliveries:
        most = min(most, RECEIVE_MOST)
        while (n := self._lib.bl_pulsar_receive(self._handle, deadline_mono_ns, most, *self._columns)) < 0:
            if n == _ENDED:
                why = self._lib.bl_pulsar_receiver_why(self._handle).decode(errors="replace")
                raise BrokerError(f"the consumer cannot go on: {why}")
            self._mend()
            if time.monotonic_ns() >= deadline_mono_ns:
                n = 0
                break
        arrived_mono_ns, first_ordinal = self._about.tolist()
        if self._automatic and n:
            self._lib.bl_pulsar_acknowledge(self._handle, first_ordinal, n)
        return self._came.deliveries(n, arrived_mono_ns, first_ordinal)

    def acknowledge(self, deliveries: Deliveries) -> None:
        if len(deliveries) and not self._automatic:
            self._lib.bl_pulsar_acknowledge(self._handle, deliveries.token, len(deliveries))

    def _mend(self) -> None:
        """One step towards all partitions having a connection again; never waits."""
        down = self._lib.bl_pulsar_receiver_down(self._handle, address(self._down), len(self._down))
        for one in self._mending.step(self._down[:down].tolist()):
            self._attach(one)

    def remaining(self) -> int | None:
        if self._handle is not None:
            self._lib.bl_pulsar_tell(self._handle)
        try:
            return self._backlog.remaining()
        except BrokerError:
            return None

    def close(self, deadline_mono_ns: int) -> None:
        """What was not acknowledged goes to others of the group, or to the next one, when the broker sees us leave."""
        if self._handle is None:
            return
        self._mending.close()
        self._lib.bl_pulsar_receiver_close(self._handle, min(deadline_mono_ns, time.monotonic_ns() + _CLOSE_MOST_NS))
        self._lib.bl_pulsar_receiver_free(self._handle)
        self._handle = None
