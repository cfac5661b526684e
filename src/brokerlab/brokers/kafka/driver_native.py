"""The Kafka path in C: blocks straight into the librdkafka that the confluent-kafka wheel carries (native/kafka.c).

The same client library as the Python driver, so TLS, authentication and reconnecting are its own; what is gone is one
Python object and one callback per message.
"""

from __future__ import annotations

import ctypes
import time
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from brokerlab.brokers.contract import NativeCalls
from brokerlab.brokers.kafka.backlog import Backlog, assigned_partitions
from brokerlab.brokers.kafka.client import NEVER_NS, commit_every_ns, consumer_properties, producer_properties
from brokerlab.brokers.kafka.outcomes import consumer_must_stop, outcome_of
from brokerlab.errors import BrokerError
from brokerlab.model.blocks import Block, Deliveries, Int32s, Settlements, no_deliveries
from brokerlab.model.plan import AgentPlan
from brokerlab.native.consuming import RECEIVE_MOST, DeliveryColumns
from brokerlab.native.loader import address, array_at, library, strings
from brokerlab.native.producing import Reports, pointer, send_block

PATH = "native (librdkafka through C)"
WHY_BYTES = 512


@cache
def _opened() -> ctypes.CDLL | None:
    """The C library with librdkafka opened in it, or None. The wheel's file name carries a hash, so it is looked for."""
    lib, spec = library(), find_spec("confluent_kafka")
    if lib is None or spec is None or spec.origin is None:
        return None
    beside = Path(spec.origin).parents[1] / "confluent_kafka.libs"
    found = sorted(beside.glob("librdkafka-*.so*"))
    if not found:
        return None
    import confluent_kafka  # noqa: F401 - loads what the library depends on

    why = ctypes.create_string_buffer(WHY_BYTES)
    return lib if lib.bl_kafka_open(str(found[0]).encode(), why, WHY_BYTES) == 0 else None


def available() -> bool:
    return _opened() is not None


def _lib() -> ctypes.CDLL:
    lib = _opened()
    if lib is None:
        raise RuntimeError("the native Kafka driver was asked for where it is not available")
    return lib


def _new(function: Any, properties: dict[str, str], plan: AgentPlan, *more: int) -> int:
    """A producer or consumer handle; BrokerError with librdkafka's own words when it refuses the settings."""
    why = ctypes.create_string_buffer(WHY_BYTES)
    names, values = strings(list(properties)), strings(list(properties.values()))
    topics = strings(list(plan.destinations))
    handle = function(
        names, values, len(properties), topics, len(plan.destinations), plan.partitions, *more, why, WHY_BYTES
    )
    if not handle:
        raise BrokerError(f"librdkafka refused its settings: {why.value.decode(errors='replace')}")
    return int(handle)


def judged(lib: ctypes.CDLL, codes: Int32s) -> tuple[npt.NDArray[np.uint8], dict[str, int]]:
    """Outcomes, and errors by name with their counts."""
    outcomes = np.zeros(len(codes), np.uint8)
    kinds: dict[str, int] = {}
    for code, count in zip(*(a.tolist() for a in np.unique(codes, return_counts=True)), strict=True):
        if code:
            outcomes[codes == code] = outcome_of(code)
            kinds[lib.bl_kafka_error_name(code).decode()] = count
    return outcomes, kinds


class NativeProducer:
    path = PATH

    def __init__(self, plan: AgentPlan, number: int) -> None:  # noqa: ARG002 - the same for every producer of a plan
        self._lib = _lib()
        self._handle = _new(self._lib.bl_kafka_producer_new, producer_properties(plan), plan)
        self._reports = Reports()
        self._closed = False

    def send(self, block: Block) -> int:
        return send_block(self._lib.bl_kafka_send, self._handle, block)

    def settled(self) -> Settlements:
        n = self._lib.bl_kafka_settled(self._handle, *self._reports.columns)
        return self._reports.settlements(n, self._judged)

    def native_calls(self) -> NativeCalls:
        return NativeCalls(
            client=self._handle,
            send=pointer(self._lib.bl_kafka_send),
            settled=pointer(self._lib.bl_kafka_settled),
            judged=self._judged,
        )

    def _judged(self, codes: Int32s) -> tuple[npt.NDArray[np.uint8], dict[str, int]]:
        return judged(self._lib, codes)

    def close(self, deadline_mono_ns: int) -> None:
        if self._closed:
            return
        self._closed = True
        self._lib.bl_kafka_flush(self._handle, _milliseconds_until(deadline_mono_ns))
        self._lib.bl_kafka_producer_free(self._handle)


class NativeConsumer:
    path = PATH
    epoch = 0  # partitions are assigned once and stay

    def __init__(self, plan: AgentPlan, number: int, assign: bool = True) -> None:
        """Without `assign` it only keeps the group's positions, until `assign` is called."""
        assert plan.consumers is not None
        self._lib = _lib()
        self._handle = _new(self._lib.bl_kafka_consumer_new, consumer_properties(plan), plan, RECEIVE_MOST)
        self._commit_every_ns = commit_every_ns(plan)
        self._next_commit_ns = NEVER_NS if self._commit_every_ns == NEVER_NS else 0
        lanes = len(plan.destinations) * plan.partitions
        self._received = array_at(self._lib.bl_kafka_positions(self._handle), ctypes.c_int64, lanes)
        self._acknowledged = np.full(lanes, -1, np.int64)
        self._came = DeliveryColumns()
        self._error = np.zeros(1, np.int32)
        self._columns = (*self._came.pointers, address(self._error))
        self._closed = False
        self._members = plan.consumers.per_group
        self._number = number % self._members
        self._share = slice(self._number, None, self._members)
        self._backlog = Backlog(plan, assigned_partitions(plan, number))
        if assign:
            self.assign(np.full(lanes, -1, np.int64))

    def assign(self, offsets: npt.NDArray[np.int64]) -> None:
        """Begin to read: each partition at its offset here, or where the group was when that is negative."""
        error = self._lib.bl_kafka_assign(self._handle, self._number, self._members, address(offsets))
        if error:
            raise BrokerError(f"Kafka refused the assignment: {self._lib.bl_kafka_error_name(error).decode()}")

    def receive(self, most: int, deadline_mono_ns: int) -> Deliveries:
        timeout_ms = _milliseconds_until(deadline_mono_ns)
        n = self._lib.bl_kafka_receive(self._handle, timeout_ms, min(most, RECEIVE_MOST), *self._columns)
        now = time.monotonic_ns()
        if self._error[0] and consumer_must_stop(int(self._error[0])):
            raise BrokerError(
                f"the consumer cannot go on: {self._lib.bl_kafka_error_name(int(self._error[0])).decode()}"
            )
        if n == 0:
            return no_deliveries(now)
        return self._came.deliveries(n, now, self._received.copy(), self._release)

    def _release(self) -> None:
        self._lib.bl_kafka_release(self._handle)

    def acknowledge(self, deliveries: Deliveries) -> None:
        """Kafka acknowledges a position, so a commit covers everything received before; it is not waited for."""
        received = deliveries.token
        if not isinstance(received, np.ndarray):
            return  # nothing was received
        np.maximum(self._acknowledged, received, out=self._acknowledged)
        if deliveries.arrived_mono_ns >= self._next_commit_ns:
            self._next_commit_ns = deliveries.arrived_mono_ns + self._commit_every_ns
            self._lib.bl_kafka_commit(self._handle, address(self._acknowledged), 0)

    def remaining(self) -> int | None:
        return self._backlog.remaining(self._received[self._share].tolist())

    def close(self, deadline_mono_ns: int) -> None:  # noqa: ARG002 - leaving the group is bounded by the client itself
        if self._closed:
            return
        self._closed = True
        self._lib.bl_kafka_commit(self._handle, address(self._acknowledged), 1)
        self._lib.bl_kafka_consumer_free(self._handle)


def _milliseconds_until(deadline_mono_ns: int) -> int:
    """Rounded up, never negative."""
    return max(0, -(-(deadline_mono_ns - time.monotonic_ns()) // 1_000_000))
