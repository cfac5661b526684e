"""Receiving: a thread for each stream reads the group's persistent subscription."""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from typing import cast
from uuid import UUID

import numpy as np
from kurrentdbclient import KurrentDBClient, RecordedEvent, StreamState
from kurrentdbclient.common import AbstractPersistentSubscription
from kurrentdbclient.exceptions import AlreadyExistsError, KurrentDBClientError, NotFoundError, ProgrammingError

from brokerlab.brokers.eventstore.connection import PATH, REFUSALS, connect, login_of, stream_of
from brokerlab.brokers.eventstore.settings import client_settings, subscription_settings
from brokerlab.brokers.kit.blocking import Worker
from brokerlab.brokers.kit.deadlines import seconds_until
from brokerlab.brokers.kit.names import of_partitions
from brokerlab.errors import BrokerError
from brokerlab.model.blocks import Deliveries, no_deliveries
from brokerlab.model.plan import AgentPlan

GIVE_UP_S = 30.0
COUNT_S = 15.0
AGAIN_S = 0.2
MOST = 100  # events that share one time of arrival
ACK_DELAY_S = 0.02


def ensure_subscription(client: KurrentDBClient, group: str, stream: str, given: dict[str, str]) -> None:
    """From the stream's beginning; one that exists stays as it is."""
    with contextlib.suppress(AlreadyExistsError):
        client.create_subscription_to_stream(group, stream, **subscription_settings(given))  # type: ignore[call-overload]


class Reader:
    """One stream's subscription over a connection of its own, read again where that breaks. What it reads or cannot read
    goes into `arrived`."""

    def __init__(self, plan: AgentPlan, number: int, stream: str, arrived: queue.SimpleQueue[Arrival]) -> None:
        self.stream, self._arrived = stream, arrived
        self._endpoint, self._group, self._name = plan.endpoint, plan.group or "", f"{plan.agent}-{number}"
        self._buffer = client_settings(plan.client_settings)["event_buffer_size"]
        self._closed = False
        self._subscription: AbstractPersistentSubscription | None = None
        self.subscribed = threading.Event()  # for the first time
        threading.Thread(target=self._run, name=f"{self._name}-{stream}", daemon=True).start()

    def _run(self) -> None:
        failing_since: float | None = None
        while not self._closed:
            try:
                with connect(self._endpoint, self._name) as client:
                    self._read(client)
                failing_since = None
            except Exception as e:  # the library's own, and what it stumbles over when a connection is lost
                failing_since = failing_since or time.monotonic()
                final = isinstance(e, NotFoundError) or time.monotonic() - failing_since > GIVE_UP_S
                if final and not self._closed:
                    self._arrived.put((self, e, time.monotonic_ns()))
                    return
            if not self._closed:
                time.sleep(AGAIN_S)

    def _read(self, client: KurrentDBClient) -> None:
        """Until the subscription ends or breaks."""
        login = login_of(client, self._endpoint)
        self._subscription = client.persistent_subscriptions.read(
            self._group, self.stream, self._buffer, max_ack_delay=ACK_DELAY_S, credentials=login
        )
        self.subscribed.set()
        for event in self._subscription:
            self._arrived.put((self, event, time.monotonic_ns()))

    def acknowledge(self, events: list[UUID]) -> None:
        """To the subscription that there is now: a server that does not know an event any more ignores it."""
        if self._subscription is not None:
            for event in events:
                self._subscription.ack(event)

    def stop(self, give_back: list[UUID]) -> None:
        """May take seconds."""
        self._closed = True
        if self._subscription is not None:
            for event in give_back:
                self._subscription.nack(event, "retry")
            self._subscription.stop()


Arrival = tuple[Reader, RecordedEvent | Exception, int]


class EventstoreConsumer:
    """See brokers.contract.Consumer."""

    path = PATH

    def __init__(self, plan: AgentPlan, number: int) -> None:
        assert plan.consumers is not None
        assert plan.group is not None
        self._endpoint, self._group = plan.endpoint, plan.group
        self._automatic = plan.consumers.acknowledge == "automatic"
        self._client = connect(plan.endpoint, f"{plan.agent}-{number}")
        streams = of_partitions(stream_of, plan.destinations, plan.partitions)
        with REFUSALS.at(plan.endpoint):
            for stream in streams:
                ensure_subscription(self._client, plan.group, stream, {})
        self._arrived: queue.SimpleQueue[Arrival] = queue.SimpleQueue()
        self._error: Exception | None = None  # of a stream that cannot be read any more
        self._counting = Worker(f"{plan.agent}-{number}-count")
        self._readers = [Reader(plan, number, stream, self._arrived) for stream in streams]
        self._held: dict[UUID, Reader] = {}
        if not all(reader.subscribed.wait(GIVE_UP_S) for reader in self._readers):
            self.close(0)
            raise BrokerError(f"the group {plan.group} cannot be read", hint="see the server's log")

    def receive(self, most: int, deadline_mono_ns: int) -> Deliveries:
        found: list[tuple[Reader, RecordedEvent]] = []
        at_ns = 0
        with contextlib.suppress(queue.Empty):
            while len(found) < min(most, MOST) and self._error is None:
                reader, event, at = self._arrived.get(timeout=0 if found else seconds_until(deadline_mono_ns))
                if isinstance(event, Exception):
                    self._error = event
                else:
                    found.append((reader, event))
                    at_ns = at
        if self._error is not None and not found:
            raise REFUSALS.explained(self._error, self._endpoint) from self._error
        return self._deliveries(found, at_ns) if found else no_deliveries(time.monotonic_ns())

    def _deliveries(self, found: list[tuple[Reader, RecordedEvent]], at_ns: int) -> Deliveries:
        identities: dict[Reader, list[UUID]] = {}
        for reader, event in found:
            identities.setdefault(reader, []).append(event.ack_id)
            self._held[event.ack_id] = reader
        made = Deliveries.from_payloads(
            [event.data for _, event in found],
            at_ns,
            np.array([event.stream_position for _, event in found], np.int64),
            np.array([bool(event.retry_count) for _, event in found], np.uint8),
            identities,
        )
        if self._automatic:
            self._acknowledge(identities)
        return made

    def acknowledge(self, deliveries: Deliveries) -> None:
        if len(deliveries) and not self._automatic:
            self._acknowledge(cast("dict[Reader, list[UUID]]", deliveries.token))

    def _acknowledge(self, identities: dict[Reader, list[UUID]]) -> None:
        for reader, events in identities.items():
            for event in events:
                self._held.pop(event, None)
            with contextlib.suppress(ProgrammingError):  # stopped meanwhile: they come again
                reader.acknowledge(events)

    def remaining(self) -> int | None:
        """Events behind the group's checkpoints, which follow acknowledgements in a moment, and parked ones."""
        counting = self._counting.submit(lambda: sum(self._behind(reader.stream) for reader in self._readers))
        try:
            return counting.result(COUNT_S)
        except (KurrentDBClientError, ValueError, TimeoutError):
            return None

    def _behind(self, stream: str) -> int:
        last = self._client.get_current_version(stream)
        info = self._client.get_subscription_info(self._group, stream)
        done = info.last_checkpointed_event_position
        behind = 0 if isinstance(last, StreamState) else last - (int(done) if done else -1)
        return behind + info.parked_message_count

    def close(self, deadline_mono_ns: int) -> None:
        """Gives back what was not acknowledged, so that others need not wait for its time to end."""
        back: dict[Reader, list[UUID]] = {reader: [] for reader in self._readers}
        for event, reader in self._held.items():
            back[reader].append(event)
        while not self._arrived.empty():
            reader, arrived, _ = self._arrived.get_nowait()
            if isinstance(arrived, RecordedEvent):
                back[reader].append(arrived.ack_id)
        stops = []
        for reader, events in back.items():
            worker = Worker(f"stop-{reader.stream}")
            stops.append(worker.submit(lambda reader=reader, events=events: reader.stop(events)))  # type: ignore[misc]
            worker.end()
        for stop in stops:
            try:
                stop.exception(seconds_until(deadline_mono_ns))
            except TimeoutError:
                break
        self._counting.submit(self._client.close)
        self._counting.end()
