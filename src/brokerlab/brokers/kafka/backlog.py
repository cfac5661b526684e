"""What a consumer has not received yet: the ends of its partitions, asked of the broker, minus its positions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from brokerlab.brokers.kafka.client import admin_properties
from brokerlab.model.plan import AgentPlan

TIMEOUT_S = 10.0
NOTHING_RECEIVED = -1


class Backlog:
    """Asks over a connection of its own: on the consumer's, every question waits behind a pending fetch, half a second
    per partition. Connects when it is first asked."""

    def __init__(self, plan: AgentPlan, assigned: Sequence[tuple[str, int]]) -> None:
        self._plan = plan
        self._assigned = list(assigned)
        self._client: Any = None
        self._began: dict[tuple[str, int], int] = {}

    def remaining(self, positions: Sequence[int]) -> int | None:
        """`positions` are the next offsets of the assigned partitions, in their order; NOTHING_RECEIVED where nothing
        came yet, which counts from what the group had committed. None when the broker does not say."""
        from confluent_kafka import KafkaException, TopicPartition
        from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]

        if not self._assigned:
            return 0
        try:
            if self._client is None:
                asking: dict[str, Any] = {**admin_properties(self._plan.endpoint, self._plan.client_settings)}
                self._client = AdminClient(asking)
                self._began = committed_offsets(self._client, self._plan.group, TIMEOUT_S)
            latest: Any = OffsetSpec.latest()  # type: ignore[no-untyped-call]
            wanted = {TopicPartition(*one): latest for one in self._assigned}
            found = self._client.list_offsets(wanted, request_timeout=TIMEOUT_S)
            ends = {(t.topic, t.partition): int(f.result().offset) for t, f in found.items()}
        except KafkaException:
            return None
        at = [
            self._began.get(one, 0) if next_offset == NOTHING_RECEIVED else next_offset
            for one, next_offset in zip(self._assigned, positions, strict=True)
        ]
        return sum(max(ends[one] - next_offset, 0) for one, next_offset in zip(self._assigned, at, strict=True))


def committed_offsets(client: Any, group: str | None, timeout_s: float) -> dict[tuple[str, int], int]:
    """Where a group had come to before, by topic and partition; a partition it never committed is left out. Raises
    KafkaException."""
    from confluent_kafka import ConsumerGroupTopicPartitions

    assert group is not None
    asked = client.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)], request_timeout=timeout_s)
    found = asked[group].result().topic_partitions
    return {(t.topic, t.partition): int(t.offset) for t in found if t.offset >= 0}


def assigned_partitions(plan: AgentPlan, number: int) -> list[tuple[str, int]]:
    """Every partition whose cell-wide number leaves the consumer's own when divided by the group's size."""
    assert plan.consumers is not None
    members = plan.consumers.per_group
    everything = [(topic, p) for topic in plan.destinations for p in range(plan.partitions)]
    return everything[number % members :: members]
