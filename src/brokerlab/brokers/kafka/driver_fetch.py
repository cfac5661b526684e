"""The consumer that speaks Kafka's Fetch protocol itself, for plain connections (native/kafka_fetch.c).

librdkafka makes an object of every message; here messages are addresses into the receive buffer. What is asked rarely
goes through librdkafka all the same: who leads, where partitions begin, the group's positions. A batch that is
compressed, or older than Kafka 0.11, is more than it can read: then it goes on with librdkafka where it was.
"""

from __future__ import annotations

import ctypes
import time

import numpy as np
import numpy.typing as npt

from brokerlab.brokers.kafka.backlog import Backlog, assigned_partitions
from brokerlab.brokers.kafka.client import COMMIT_INTERVAL
from brokerlab.brokers.kafka.driver_native import NativeConsumer
from brokerlab.brokers.kafka.following import ClientInC, Following
from brokerlab.brokers.kafka.leaders import Leaders
from brokerlab.brokers.kafka.outcomes import consumer_must_stop
from brokerlab.brokers.kafka.settings import CONSUMER_SETTINGS, SHARED_SETTINGS
from brokerlab.brokers.kit.names import names
from brokerlab.errors import BrokerError
from brokerlab.model.blocks import Deliveries, no_deliveries
from brokerlab.model.plan import AgentPlan
from brokerlab.native.consuming import RECEIVE_MOST, DeliveryColumns
from brokerlab.native.loader import address, array_at, needed_library, strings

PATH = "native (Kafka protocol in C)"
SERVE_EVERY_NS = 1_000_000_000
DAMAGED, UNSUPPORTED = -2, -3  # as native/kafka_fetch.c has them
OFFSET_OUT_OF_RANGE = 1  # Kafka's code

# Settings with their defaults, in the order of bl_fetch_new; the second name is an alias.
_FETCH = (
    ("fetch.wait.max.ms", "", 500),
    ("fetch.min.bytes", "", 1),
    ("fetch.max.bytes", "", 52_428_800),
    ("fetch.message.max.bytes", "max.partition.fetch.bytes", 1_048_576),
)
_CHECK, _RECEIVE_BUFFER = "check.crcs", "socket.receive.buffer.bytes"
# About queues that are not there, members of a group that are assigned, or the connection for the group's positions.
_WITHOUT_MEANING = names("""
    fetch.queue.backoff.ms group.protocol heartbeat.interval.ms max.poll.interval.ms
    partition.assignment.strategy queued.max.messages.kbytes queued.min.messages session.timeout.ms
    socket.nagle.disable
""")
_KNOWN = (
    _WITHOUT_MEANING | {_CHECK, _RECEIVE_BUFFER, COMMIT_INTERVAL} | {name for names in _FETCH for name in names[:2]}
)


def can_read(plan: AgentPlan) -> bool:
    """Whether this consumer can do what the plan asks: no security, no compression, no setting unknown here."""
    settings = plan.client_settings
    compression = settings.get("compression.type", settings.get("compression.codec", "none"))
    asked = {name for name in settings if name in CONSUMER_SETTINGS | SHARED_SETTINGS}
    plain = plan.endpoint.security is None and not plan.endpoint.options
    return plain and compression == "none" and asked <= _KNOWN


class FetchConsumer:
    """See brokers.contract.Consumer."""

    epoch = 0  # partitions are assigned once and stay

    def __init__(self, plan: AgentPlan, number: int) -> None:
        assert plan.consumers is not None
        self._lib = needed_library()
        self.path = PATH
        self._automatic = plan.consumers.acknowledge == "automatic"
        self._settings = dict(plan.client_settings)
        everything = [(topic, p) for topic in plan.destinations for p in range(plan.partitions)]
        mine = assigned_partitions(plan, number)
        self._partitions = {n: one for n, one in enumerate(everything) if one in set(mine)}
        self._came = DeliveryColumns()
        self._about = np.zeros(2, np.int64)  # time of arrival, whether something needs care
        self._columns = (*self._came.pointers, address(self._about))
        self._serve_at_ns = 0
        self._last: Deliveries | None = None
        self._reads_otherwise = False
        self._handle: int | None = None
        self._group = NativeConsumer(plan, number, assign=False)  # for the group's positions only
        try:
            self._begin(plan, mine)
        except BrokerError:
            self.close(0)
            raise

    def _begin(self, plan: AgentPlan, mine: list[tuple[str, int]]) -> None:
        self._leaders = Leaders(plan, self._partitions)
        self._leaders.ask_leaders()
        committed = self._leaders.committed() if mine else {}
        leaders = self._leaders.wait_for_leaders() if mine else {}
        self._handle = self._made(plan)
        self._backlog = Backlog(plan, mine)
        lib, lanes = self._lib, len(plan.destinations) * plan.partitions
        self._received: npt.NDArray[np.int64] = array_at(lib.bl_fetch_positions(self._handle), ctypes.c_int64, lanes)
        self._errors: npt.NDArray[np.int32] = array_at(lib.bl_fetch_errors(self._handle), ctypes.c_int32, lanes)
        for number in self._partitions:
            self._lib.bl_fetch_seek(self._handle, number, committed.get(number, 0))
        client = ClientInC(self._handle, lib.bl_fetch_attach, lib.bl_fetch_lead, lib.bl_fetch_is_up)
        self._following = Following(client, self._leaders, self._settings)
        self._following.follow(leaders, time.monotonic_ns())

    def _made(self, plan: AgentPlan) -> int:
        topics = strings(plan.destinations)
        values = [int(self._settings.get(name, self._settings.get(alias, most))) for name, alias, most in _FETCH]
        values.append(self._settings.get(_CHECK, "true") == "true")
        settings = np.array(values, np.int64)
        made = self._lib.bl_fetch_new(
            plan.agent.encode(), topics, len(plan.destinations), plan.partitions, address(settings)
        )
        return int(made)

    def receive(self, most: int, deadline_mono_ns: int) -> Deliveries:
        if self._reads_otherwise:
            return self._group.receive(most, deadline_mono_ns)
        self._acknowledge_last()
        if self._about[1]:
            self._mend()
        most = min(most, RECEIVE_MOST)
        while (n := self._lib.bl_fetch_receive(self._handle, deadline_mono_ns, most, *self._columns)) < 0:
            if n == UNSUPPORTED:
                self._read_otherwise()
                return self._group.receive(most, deadline_mono_ns)
            if n == DAMAGED:
                raise BrokerError(f"the consumer cannot go on: {self._why()}")
            self._mend()
            now = time.monotonic_ns()
            if now >= deadline_mono_ns:
                return no_deliveries(now)
        arrived_mono_ns = int(self._about[0])
        if arrived_mono_ns >= self._serve_at_ns:
            self._serve_at_ns = arrived_mono_ns + SERVE_EVERY_NS
            self._group.receive(1, 0)  # has no partitions; tells of errors of the group
        if n == 0:
            return no_deliveries(arrived_mono_ns)
        self._last = self._came.deliveries(n, arrived_mono_ns, self._received.copy())
        return self._last

    def acknowledge(self, deliveries: Deliveries) -> None:
        """Kafka acknowledges a position, so a commit covers everything received before; it is not waited for."""
        self._group.acknowledge(deliveries)

    def _acknowledge_last(self) -> None:
        """What is acknowledged automatically counts as done when more is asked for."""
        if self._automatic and self._last is not None:
            self._group.acknowledge(self._last)
            self._last = None

    def remaining(self) -> int | None:
        if self._reads_otherwise:
            return self._group.remaining()
        return self._backlog.remaining([int(self._received[number]) for number in self._partitions])

    def close(self, deadline_mono_ns: int) -> None:
        self._acknowledge_last()
        self._group.close(deadline_mono_ns)
        if self._handle is not None:
            self._received, self._errors = self._received.copy(), self._errors.copy()
            self._lib.bl_fetch_free(self._handle)
            self._handle = None

    # ---- what goes wrong

    def _why(self) -> str:
        return str(self._lib.bl_fetch_why(self._handle).decode(errors="replace"))

    def _read_otherwise(self) -> None:
        """Go on with librdkafka, behind what was handed out."""
        self._acknowledge_last()
        self._group.assign(self._received)
        self._reads_otherwise = True
        self.path = self._group.path

    def _mend(self) -> None:
        """One step towards all partitions being fetched again; never waits."""
        now = time.monotonic_ns()
        errors = {number: int(self._errors[number]) for number in self._partitions if self._errors[number]}
        self._stop_for(errors)
        for number, offset in self._leaders.beginnings().items():
            if errors.get(number) == OFFSET_OUT_OF_RANGE:
                self._lib.bl_fetch_seek(self._handle, number, offset)
        out = [number for number, error in errors.items() if error == OFFSET_OUT_OF_RANGE]
        if out:
            self._leaders.ask_beginnings(out)
        self._following.mend(now, without=frozenset(out))

    def _stop_for(self, errors: dict[int, int]) -> None:
        for error in errors.values():
            if consumer_must_stop(error):
                raise BrokerError(f"the consumer cannot go on: {self._lib.bl_kafka_error_name(error).decode()}")
