"""What a consumer that speaks for itself asks about its partitions: who leads them, where they begin, what its group
committed. Answers are awaited without blocking, over a connection of librdkafka's own."""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future
from typing import Any

from brokerlab.brokers.kafka.backlog import committed_offsets
from brokerlab.brokers.kafka.client import admin_properties
from brokerlab.errors import BrokerError
from brokerlab.model.plan import AgentPlan

TIMEOUT_S = 5.0
PATIENCE_S = 30.0
_PAUSE_S = 0.1
Where = tuple[str, int]


class Leaders:
    """Questions about these partitions, by their cell-wide numbers."""

    def __init__(self, plan: AgentPlan, partitions: dict[int, tuple[str, int]]) -> None:
        from confluent_kafka.admin import AdminClient

        self._plan = plan
        self._partitions = partitions
        # The caller waits for a broker to come back: ten seconds between two attempts would be too many.
        own: dict[str, Any] = {"reconnect.backoff.max.ms": "500"}
        self._client: Any = AdminClient({**admin_properties(plan.endpoint, plan.client_settings), **own})
        self._metadata: Future[Any] | None = None
        self.unknown_topic = False  # whether the last answer did not know one
        self._beginnings: dict[Any, Future[Any]] = {}

    def ask_leaders(self) -> None:
        """Asks, unless it is asking already. In a thread: of the questions whose answers need not be waited for, the one
        about topics goes to the controller only, and gets no answer when that is the node that was lost."""
        if self._metadata is None:
            self._metadata = Future()
            threading.Thread(target=self._ask, args=(self._metadata,), daemon=True).start()

    def _ask(self, answer: Future[Any]) -> None:
        try:
            answer.set_result(self._client.list_topics(timeout=TIMEOUT_S))
        except Exception as e:  # raised where the answer is read
            answer.set_exception(e)

    def leaders(self) -> dict[int, Where | None] | None:
        """Host and port of each partition's leader, None where no leader is known; None while there is no
        answer."""
        if self._metadata is None or not self._metadata.done():
            return None
        asked, self._metadata = self._metadata, None
        if asked.exception() is not None:
            return None
        metadata = asked.result()
        found: dict[int, Where | None] = {}
        self.unknown_topic = False
        for number, (topic, partition) in self._partitions.items():
            known = metadata.topics.get(topic)
            self.unknown_topic = self.unknown_topic or known is None or partition not in known.partitions
            one = None if known is None else known.partitions.get(partition)
            leader = None if one is None else metadata.brokers.get(one.leader)
            found[number] = None if leader is None else (leader.host, leader.port)
        return found

    def wait_for_leaders(self) -> dict[int, Where | None]:
        """The first answer that knows all topics (a broker may not have heard of a new one). Raises BrokerError when there
        is none in time."""
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            self.ask_leaders()
            found = self.leaders()
            if found is not None and not self.unknown_topic:
                return found
            time.sleep(0.002 if self._metadata is not None else _PAUSE_S)
        raise BrokerError(
            f"Kafka at {', '.join(self._plan.endpoint.addresses)} does not say who leads the destinations",
            hint="is it running, and reachable?",
        )

    def ask_beginnings(self, numbers: list[int]) -> None:
        """Where these partitions begin; unless it is asking already."""
        from confluent_kafka import TopicPartition
        from confluent_kafka.admin import OffsetSpec  # type: ignore[attr-defined]

        if not self._beginnings:
            earliest: Any = OffsetSpec.earliest()  # type: ignore[no-untyped-call]
            wanted = {TopicPartition(*self._partitions[number]): earliest for number in numbers}
            self._beginnings = self._client.list_offsets(wanted, request_timeout=TIMEOUT_S)

    def beginnings(self) -> dict[int, int]:
        """What was answered since the last call."""
        if not self._beginnings or not all(asked.done() for asked in self._beginnings.values()):
            return {}
        numbers = {one: number for number, one in self._partitions.items()}
        found = {
            numbers[one.topic, one.partition]: int(asked.result().offset)
            for one, asked in self._beginnings.items()
            if asked.exception() is None
        }
        self._beginnings = {}
        return found

    def committed(self) -> dict[int, int]:
        """Where the group had come to before; a partition it never committed is left out. Raises BrokerError."""
        from confluent_kafka import KafkaException

        until = time.monotonic() + PATIENCE_S
        while True:
            try:
                offsets = committed_offsets(self._client, self._plan.group, TIMEOUT_S)
                return {number: offsets[one] for number, one in self._partitions.items() if one in offsets}
            except KafkaException as e:
                if time.monotonic() >= until:
                    raise BrokerError(f"Kafka does not say where group {self._plan.group} is: {e.args[0]}") from e
                time.sleep(_PAUSE_S)
