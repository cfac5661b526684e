"""Receiving: fixed partitions of a subscription, every message acknowledged by itself."""

from __future__ import annotations

import contextlib
import time
from typing import Any

import numpy as np
import pulsar

from brokerlab.brokers.pulsar.backlog import Backlog
from brokerlab.brokers.pulsar.client import close_in_time, connect_for, explained, path, topics_of
from brokerlab.brokers.pulsar.settings import client_settings_of
from brokerlab.errors import BrokerError
from brokerlab.model.blocks import Deliveries, no_deliveries
from brokerlab.model.plan import AgentPlan

ALL_QUEUES = "max_total_receiver_queue_size_across_partitions"
_LEDGER_BITS, _ENTRY_BITS, _BATCH_BITS = 24, 28, 11


def position(ledger: int, entry: int, batch_index: int) -> int:
    """Ledger, entry and place in the batch in one number that grows within a partition; -1 where they do not fit."""
    within = max(batch_index, 0)  # -1: not in a batch
    if not (0 <= ledger < 1 << _LEDGER_BITS and 0 <= entry < 1 << _ENTRY_BITS and within < 1 << _BATCH_BITS):
        return -1
    return ledger << (_ENTRY_BITS + _BATCH_BITS) | entry << _BATCH_BITS | within


def share_of(topics: list[str], number: int, members: int) -> tuple[list[str], bool]:
    """The topics consumer `number` of `members` reads, and whether it shares them with others of its group."""
    if members <= len(topics):
        return topics[number % members :: members], False
    return [topics[number % len(topics)]], True


class PulsarConsumer:
    """See brokers.contract.Consumer. The library heals a lost connection."""

    def __init__(self, plan: AgentPlan, number: int) -> None:
        assert plan.consumers is not None
        assert plan.group is not None
        self.path = path()
        settings = client_settings_of(plan.client_settings)
        topics, shared = share_of(topics_of(plan), number, plan.consumers.per_group)
        self._backlog = Backlog(plan)
        self._automatic = plan.consumers.acknowledge == "automatic"
        self._client = connect_for(plan)
        try:
            self._consumer = self._client.subscribe(
                topics if len(topics) > 1 else topics[0],
                plan.group,
                # Failover, not Exclusive: after a crash the next one may come before the broker has missed the last.
                consumer_type=pulsar.ConsumerType.Shared if shared else pulsar.ConsumerType.Failover,
                initial_position=pulsar.InitialPosition.Earliest,
                receiver_queue_size=int(settings["receiver_queue_size"]),
                max_total_receiver_queue_size_across_partitions=int(settings[ALL_QUEUES]),
                batch_index_ack_enabled=True,
            )._consumer
        except pulsar.PulsarException as e:
            close_in_time(self._client, 0)
            raise explained("cannot subscribe", e) from e

    def receive(self, most: int, deadline_mono_ns: int) -> Deliveries:
        """Waits for the first message only; `batch_receive` would wait until it has all or its time is over."""
        take = self._consumer.receive
        try:
            messages = [take(max((deadline_mono_ns - time.monotonic_ns()) // 1_000_000 + 1, 0))]
        except pulsar.Timeout:
            return no_deliveries(time.monotonic_ns())
        except pulsar.PulsarException as e:
            raise explained("cannot receive", e) from e
        with contextlib.suppress(pulsar.Timeout):
            while len(messages) < most:
                messages.append(take(0))
        return self._deliveries(messages, time.monotonic_ns())

    def _deliveries(self, messages: list[Any], arrived_mono_ns: int) -> Deliveries:
        ids = [m.message_id() for m in messages]
        if self._automatic:
            self._acknowledge(ids)
        positions = [position(i.ledger_id(), i.entry_id(), i.batch_index()) for i in ids]
        return Deliveries.from_payloads(
            [m.data() for m in messages],
            arrived_mono_ns,
            np.array(positions, np.int64),
            np.fromiter((m.redelivery_count() > 0 for m in messages), np.uint8, len(messages)),
            ids,
        )

    def acknowledge(self, deliveries: Deliveries) -> None:
        if len(deliveries) and not self._automatic:
            self._acknowledge(deliveries.token)  # type: ignore[arg-type]

    def _acknowledge(self, ids: list[Any]) -> None:
        """The library collects acknowledgements for a tenth of a second and sends them together: this does not
        wait."""
        acknowledge = self._consumer.acknowledge
        try:
            for one in ids:
                acknowledge(one)
        except pulsar.PulsarException as e:
            raise explained("cannot acknowledge", e) from e

    def remaining(self) -> int | None:
        try:
            return self._backlog.remaining()
        except BrokerError:
            return None

    def close(self, deadline_mono_ns: int) -> None:
        """What was not acknowledged goes to others of the group, or to the next one, when the broker sees us leave."""
        close_in_time(self._client, deadline_mono_ns)
