"""The producer that speaks Kafka's Produce protocol itself, for plain connections (native/kafka_produce.c).

librdkafka makes an object of every message and hands it to a thread; here a message is copied once, into the batch that
is sent, by the agent's own thread. Batching and retrying follow the settings, under librdkafka's names. With acks=0, where
brokers answer nothing, a message is acknowledged when the socket has taken its whole request: handed to the network, and
no more. Idempotent, compressed or secured messages are librdkafka's: see `can_write`.
"""

from __future__ import annotations

import time

import numpy as np
import numpy.typing as npt

from brokerlab.brokers.contract import NativeCalls
from brokerlab.brokers.kafka.client import producer_properties
from brokerlab.brokers.kafka.driver_native import judged
from brokerlab.brokers.kafka.following import ClientInC, Following
from brokerlab.brokers.kafka.leaders import Leaders
from brokerlab.brokers.kafka.settings import PRODUCER_SETTINGS, SHARED_SETTINGS
from brokerlab.brokers.kit.names import names
from brokerlab.errors import BrokerError
from brokerlab.model.blocks import Block, Int32s, Settlements
from brokerlab.model.plan import AgentPlan
from brokerlab.native.loader import address, needed_library, strings
from brokerlab.native.producing import Reports, pointer, send_block

PATH = "native (Kafka protocol in C)"

_MS = 1_000_000
# In the order of bl_produce_new, behind acks: name, alias, default, and what one unit is in C. Defaults are librdkafka's,
# but for the requests under way on a connection, where it knows no limit: 5 is that of Kafka's Java client. What more of
# them do is not settled: docs/performance.md.
_SETTINGS = (
    ("linger.ms", "queue.buffering.max.ms", 5.0, _MS),
    ("batch.size", "", 1_000_000, 1),
    ("batch.num.messages", "", 10_000, 1),
    ("max.in.flight.requests.per.connection", "max.in.flight", 5, 1),
    ("message.max.bytes", "", 1_000_000, 1),
    ("request.timeout.ms", "", 30_000, 1),
    ("message.timeout.ms", "", 300_000, _MS),
    ("retries", "message.send.max.retries", 2_147_483_647, 1),
    ("retry.backoff.ms", "", 100, _MS),
)
# About queues, threads and objects that are not there, or about connections to ask who leads.
_WITHOUT_MEANING = names("""
    acks message.copy.max.bytes queue.buffering.backpressure.threshold request.required.acks retry.backoff.max.ms
    socket.nagle.disable socket.receive.buffer.bytes socket.send.buffer.bytes sticky.partitioning.linger.ms
""")
_KNOWN = _WITHOUT_MEANING | {name for setting in _SETTINGS for name in setting[:2]}
_NEUTRAL = {"compression.type": "none", "compression.codec": "none", "enable.idempotence": "false"}


def can_write(plan: AgentPlan) -> bool:
    """Whether this producer can do what the plan asks: no security, no compression, no idempotence, no setting unknown
    here."""
    asked = {n: v for n, v in plan.client_settings.items() if n in PRODUCER_SETTINGS | SHARED_SETTINGS}
    plain = plan.endpoint.security is None and not plan.endpoint.options
    known = all(name in _KNOWN or _NEUTRAL.get(name) == value for name, value in asked.items())
    return plain and known


def _settings(plan: AgentPlan) -> npt.NDArray[np.int64]:
    given = producer_properties(plan)
    values = [-1 if given["acks"] == "all" else int(given["acks"])]
    for name, alias, default, unit in _SETTINGS:
        # A workload may write the alias; linger.ms and message.timeout.ms are always there.
        value = plan.client_settings.get(alias, given.get(name, default))
        values.append(round(float(value) * unit))
    return np.array(values, np.int64)


class ProduceProducer:
    """See brokers.contract.Producer."""

    path = PATH

    def __init__(self, plan: AgentPlan, number: int) -> None:
        self._lib = lib = needed_library()
        self._reports = Reports()
        self._closed = False
        everything = [(topic, p) for topic in plan.destinations for p in range(plan.partitions)]
        leaders = Leaders(plan, dict(enumerate(everything)))
        known = leaders.wait_for_leaders()
        topics = strings(plan.destinations)
        self._handle = int(
            lib.bl_produce_new(
                f"{plan.agent}-{number}".encode(),
                topics,
                len(plan.destinations),
                plan.partitions,
                address(_settings(plan)),
            )
        )
        client = ClientInC(self._handle, lib.bl_produce_attach, lib.bl_produce_lead, lib.bl_produce_is_up)
        self._following = Following(client, leaders, plan.client_settings)
        self._following.follow(known, time.monotonic_ns())

    def send(self, block: Block) -> int:
        return send_block(self._lib.bl_produce_send, self._handle, block)

    def settled(self) -> Settlements:
        n = self._lib.bl_produce_settled(self._handle, *self._reports.columns)
        if self._lib.bl_produce_needs_care(self._handle):
            self._mend()
        return self._reports.settlements(n, self._judged)

    def native_calls(self) -> NativeCalls:
        return NativeCalls(
            client=self._handle,
            send=pointer(self._lib.bl_produce_send),
            settled=pointer(self._lib.bl_produce_settled),
            watch=pointer(self._lib.bl_produce_watch),
            judged=self._judged,
        )

    def _judged(self, codes: Int32s) -> tuple[npt.NDArray[np.uint8], dict[str, int]]:
        return judged(self._lib, codes)

    def _mend(self) -> None:
        """A destination that is gone is no reason to stop: its messages end unknown, by their timeout."""
        try:
            self._following.mend(time.monotonic_ns())
        except BrokerError:
            return

    def close(self, deadline_mono_ns: int) -> None:
        if self._closed:
            return
        self._closed = True
        self._lib.bl_produce_flush(self._handle, deadline_mono_ns)
        self._lib.bl_produce_free(self._handle)
