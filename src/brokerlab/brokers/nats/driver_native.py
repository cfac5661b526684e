"""The NATS path in C, for plain connections (native/nats*.c): blocks become frames, answers become columns.

The same subjects, pulls and outcomes as the nats-py path; what is gone is the event loop and every Python object per
message. Questions to JetStream's API still go through nats-py, on a connection of their own.
"""

from __future__ import annotations

import ctypes
import time

import numpy as np
import numpy.typing as npt

from brokerlab.brokers.contract import NativeCalls
from brokerlab.brokers.nats.groups import PULL_REST, ensure_group, left_in_group, pull_subject
from brokerlab.brokers.nats.link import Link, broker_name, subject_of
from brokerlab.brokers.nats.outcomes import outcome_of_answer
from brokerlab.brokers.nats.settings import PENDING_BYTES, PULL_BYTES, PULL_MESSAGES
from brokerlab.brokers.nats.wire import hello, new_inbox, opened_wire
from brokerlab.errors import BrokerError
from brokerlab.model.blocks import REJECTED, UNKNOWN, Block, Deliveries, Int32s, Settlements
from brokerlab.model.plan import AgentPlan
from brokerlab.native.consuming import RECEIVE_MOST, DeliveryColumns
from brokerlab.native.loader import address, library, needed_library, strings
from brokerlab.native.producing import Reports, pointer, send_block

PATH = "native (NATS protocol in C)"
HEAL_PAUSE_S = 0.005
LOST, TOO_LARGE, ANSWER = 1, 2, 3  # codes of native/nats_producer.c; 0 is acknowledged
POLICIES = {"none": 0, "all": 1, "explicit": 2}  # as native/nats_consumer.c has them
NOT_UP, ENDED = -1, -2


def available() -> bool:
    return library() is not None


class NativeProducer:
    """See brokers.contract.Producer."""

    path = PATH

    def __init__(self, plan: AgentPlan, number: int) -> None:
        self._lib = needed_library()
        inbox = new_inbox("_R")
        said = hello(plan.endpoint, f"{plan.agent}-{number}", [f"{inbox}*"])
        subjects = [subject_of(d, p) for d in plan.destinations for p in range(plan.partitions)]
        prefixes = [f"PUB {subject} {inbox}" for subject in subjects]
        pending = int(plan.client_settings.get("pending_bytes", PENDING_BYTES))
        self._handle: int | None = self._lib.bl_nats_producer_new(
            said, len(said), strings(prefixes), len(prefixes), len(inbox), pending
        )
        assert self._handle is not None
        self._reports = Reports()
        self._wire = opened_wire(self._lib, self._handle, plan.endpoint, number, otherwise=self._free)

    def send(self, block: Block) -> int:
        return send_block(self._lib.bl_nats_send, self._handle, block)

    def settled(self) -> Settlements:
        n = self._lib.bl_nats_settled(self._handle, *self._reports.columns)
        if n == NOT_UP:
            self._wire.heal()
        return self._reports.settlements(n, self._judged)

    def native_calls(self) -> NativeCalls:
        assert self._handle is not None
        return NativeCalls(
            client=self._handle,
            send=pointer(self._lib.bl_nats_send),
            settled=pointer(self._lib.bl_nats_settled),
            judged=self._judged,
        )

    def _judged(self, codes: Int32s) -> tuple[npt.NDArray[np.uint8], dict[str, int]]:
        outcomes = np.zeros(len(codes), np.uint8)
        kinds: dict[str, int] = {}
        for code, count in zip(*(a.tolist() for a in np.unique(codes, return_counts=True)), strict=True):
            outcome, kind = self._meaning(code)
            outcomes[codes == code] = outcome
            if kind is not None:
                kinds[kind] = kinds.get(kind, 0) + count
        return outcomes, kinds

    def _meaning(self, code: int) -> tuple[int, str | None]:
        """Outcome and error kind, in the words of the nats-py path."""
        if code == 0:
            return 0, None
        if code == LOST:
            return UNKNOWN, "connection lost"
        if code == TOO_LARGE:
            return REJECTED, "MaxPayloadError"
        status = ctypes.c_int32()
        text = self._lib.bl_nats_answer(self._handle, code - ANSWER, ctypes.byref(status))
        return outcome_of_answer(text, str(status.value) if status.value else None)

    def close(self, deadline_mono_ns: int) -> None:
        if self._handle is None:
            return
        self._lib.bl_nats_flush(self._handle, min(deadline_mono_ns, time.monotonic_ns() + 10_000_000_000))
        self._free()

    def _free(self) -> None:
        self._lib.bl_nats_producer_free(self._handle)
        self._handle = None


class NativeConsumer:
    """See brokers.contract.Consumer. A lost connection is opened again, and the pulls on it."""

    path = PATH

    def __init__(self, plan: AgentPlan, number: int) -> None:
        assert plan.group is not None
        self._lib = needed_library()
        self._streams = [broker_name(d) for d in plan.destinations]
        self._group = broker_name(plan.group)
        self._endpoint, self._name, self._number = plan.endpoint, f"{plan.agent}-{number}", number
        self._api: Link | None = None
        self._received = DeliveryColumns()
        self._about = np.zeros(2, np.int64)  # time of arrival, ordinal of the first
        self._columns = (*self._received.pointers, self._received.redelivered_pointer, address(self._about))
        policies = [ensure_group(self._link(), stream, self._group, plan) for stream in self._streams]
        self._close_link(time.monotonic_ns() + 2_000_000_000)
        self._handle: int | None = self._made(plan, policies[0])
        self._wire = opened_wire(self._lib, self._handle, plan.endpoint, number, otherwise=self._free)
        self.receive(0, 0)  # opens the first pulls

    def _made(self, plan: AgentPlan, policy: str) -> int:
        pull_messages = int(plan.client_settings.get("pull_messages", PULL_MESSAGES))
        inboxes = [new_inbox("_INBOX") + str(i) for i in range(len(self._streams))]
        pull_bytes = int(plan.client_settings.get("pull_bytes", PULL_BYTES))
        pulls = [
            f"PUB {pull_subject(stream, self._group)} {inbox}"
            for stream, inbox in zip(self._streams, inboxes, strict=True)
        ]
        said = hello(plan.endpoint, self._name, inboxes)
        made = self._lib.bl_nats_consumer_new(
            said,
            len(said),
            strings(pulls),
            len(pulls),
            PULL_REST.encode(),
            pull_messages,
            pull_bytes,
            POLICIES[policy],
        )
        return int(made)

    def receive(self, most: int, deadline_mono_ns: int) -> Deliveries:
        most = min(most, RECEIVE_MOST)
        while (n := self._lib.bl_nats_receive(self._handle, deadline_mono_ns, most, *self._columns)) < 0:
            if n == ENDED:
                raise BrokerError(f"the group {self._group} cannot be read: {self._wire.why()}")
            self._wire.heal()
            now = time.monotonic_ns()
            if now >= deadline_mono_ns:
                return self._received.deliveries(0, now, 0)
            time.sleep(min(HEAL_PAUSE_S, (deadline_mono_ns - now) / 1e9))
        arrived_mono_ns, first_ordinal = self._about.tolist()
        return self._received.deliveries(n, arrived_mono_ns, first_ordinal)

    def acknowledge(self, deliveries: Deliveries) -> None:
        if len(deliveries):
            self._lib.bl_nats_acknowledge(self._handle, deliveries.token, len(deliveries))

    def remaining(self) -> int | None:
        """Asked rarely, so the connection for it may have gone stale meanwhile: then once more on a new one."""
        try:
            return left_in_group(self._link(), self._streams, self._group)
        except BrokerError:
            self._close_link(time.monotonic_ns() + 1_000_000_000)
            return left_in_group(self._link(), self._streams, self._group)

    def _link(self) -> Link:
        if self._api is None:
            self._api = Link(self._endpoint, f"{self._name}-api", first_address=self._number)
        return self._api

    def _close_link(self, deadline_mono_ns: int) -> None:
        if self._api is not None:
            self._api.close(deadline_mono_ns)
            self._api = None

    def close(self, deadline_mono_ns: int) -> None:
        """Give back what was not acknowledged, so that others need not wait for `ack_wait`."""
        if self._handle is None:
            return
        now = time.monotonic_ns()
        self._lib.bl_nats_give_back(self._handle, now + max(100_000_000, (deadline_mono_ns - now) // 2))
        self._free()
        self._close_link(deadline_mono_ns)

    def _free(self) -> None:
        self._lib.bl_nats_consumer_free(self._handle)
        self._handle = None
