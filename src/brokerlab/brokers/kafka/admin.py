"""Topics and settings of a Kafka cluster, ours or the user's, through the administrative client."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from typing import Any

from brokerlab.brokers.contract import ComputedDurability
from brokerlab.brokers.kafka.access import Client
from brokerlab.brokers.kafka.settings import computed_durability, replication_factor, topic_settings, wanted_acks
from brokerlab.errors import BrokerError
from brokerlab.model.patience import patience_s
from brokerlab.model.plan import CellPlan, Durability, Endpoint
from brokerlab.processes.readiness import wait_until

_TIMEOUT_S = 60.0  # and more where there are many partitions
# A controller refuses a request that would make more than 10,000 records, of which each partition is one.
_PARTITIONS_AT_ONCE = 5_000
# A client of librdkafka whose connection had been lost was seen to wait for an answer about groups until its time was
# up, where a new one was answered at once: clean-up asks again with a new one.
_GROUPS_TIMEOUT_S = 15.0


class KafkaAdmin:
    """Works for one cell: its durability and settings decide how topics are made, unless `replicas` and `config` do."""

    def __init__(
        self, endpoint: Endpoint, cell: CellPlan, replicas: int | None = None, config: dict[str, str] | None = None
    ) -> None:
        self._connection = Client(endpoint, cell.client_settings)
        self._client = self._connection.admin
        self._connection.metadata()  # a refusal is said here, once, instead of by every call
        self._cell = cell
        self._replication = replication_factor(cell.durability, cell.broker_settings) if replicas is None else replicas
        self._config = topic_settings(cell.durability, cell.broker_settings) if config is None else config
        self._made: set[str] = set()
        self._timeout_s = patience_s(_TIMEOUT_S, cell.destinations * cell.partitions)

    def create(self, destinations: tuple[str, ...], partitions: int, groups: tuple[str, ...]) -> None:  # noqa: ARG002
        """Make the topics and wait until every partition has a leader. Groups need nothing beforehand."""
        create_topics(
            self._connection, destinations, partitions, self._replication, self._config, within_s=self._timeout_s
        )
        self._made.update(destinations)
        wait_until(
            "every partition to have a leader",
            lambda: self._all_led(destinations, partitions),
            time.monotonic_ns() + int(self._timeout_s * 1e9),
            died=tuple,
            log_tail=str,
        )

    def delete(self, destinations: tuple[str, ...], groups: tuple[str, ...]) -> None:
        from confluent_kafka import KafkaError

        absent = (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError.GROUP_ID_NOT_FOUND)
        if groups:
            gone = self._client.delete_consumer_groups(list(groups), request_timeout=_GROUPS_TIMEOUT_S)
            for name, future in gone.items():
                _result(self._connection, f"group {name} could not be deleted", future, absent)
        self._made.difference_update(destinations)
        if destinations:
            gone = self._client.delete_topics(
                list(destinations), operation_timeout=self._timeout_s, request_timeout=self._timeout_s
            )
            for name, future in gone.items():
                _result(self._connection, f"topic {name} could not be deleted", future, absent, self._timeout_s)

    def effective_settings(self, destinations: tuple[str, ...]) -> dict[str, dict[str, str]]:
        """Every setting of the topics ("topic:<name>") and of the brokers ("broker:<id>"), as Kafka itself reports
        them; what it calls sensitive is left out. Topics also carry `replication_factor` and `partitions`."""
        from confluent_kafka.admin import ConfigResource, ResourceType  # type: ignore[attr-defined]

        metadata = self._metadata_with(destinations)
        topics = [ConfigResource(ResourceType.TOPIC, name) for name in destinations]
        brokers = [ConfigResource(ResourceType.BROKER, str(number)) for number in sorted(metadata.brokers)]
        replicas = {name: self._replicas(metadata, name) for name in destinations}
        settings = self._described("topic", topics) if topics else {}
        for one in brokers:  # Kafka's client takes no more than one broker per call
            settings |= self._described("broker", [one])
        for name in destinations:
            settings[f"topic:{name}"] |= replicas[name]
        return settings

    def durability(self, destinations: tuple[str, ...]) -> ComputedDurability:
        """The weakest level of the topics, with the acks this cell's producers ask for."""
        settings = self.effective_settings(destinations)
        acks = wanted_acks(self._cell.durability, self._cell.client_settings)
        levels = [topic_durability(settings[f"topic:{name}"], acks) for name in destinations]
        return max(levels, key=lambda computed: list(Durability).index(computed.level))

    def close(self) -> None:
        """The client has no connection of its own to close; it goes with this object."""

    def _described(self, kind: str, resources: list[Any]) -> dict[str, dict[str, str]]:
        settings = {}
        for resource in resources:
            entries = self._entries(kind, resource)
            plain = {e.name: e.value for e in entries.values() if e.value is not None and not e.is_sensitive}
            settings[f"{kind}:{resource.name}"] = dict(sorted(plain.items()))
        return settings

    def _entries(self, kind: str, resource: Any) -> dict[str, Any]:
        """Any broker may answer, and one of several may not have heard yet of a topic we made: it is asked again."""
        from confluent_kafka import KafkaError

        until = time.monotonic() + (self._timeout_s if resource.name in self._made else 0)
        while True:
            (future,) = self._client.describe_configs([resource], request_timeout=self._timeout_s).values()
            late = () if time.monotonic() > until else (KafkaError.UNKNOWN_TOPIC_OR_PART,)
            entries: dict[str, Any] | None = _result(
                self._connection, f"settings of {kind} {resource.name} could not be read", future, late
            )
            if entries is not None:
                return entries
            time.sleep(0.1)

    def _all_led(self, destinations: tuple[str, ...], partitions: int) -> bool:
        """Every broker's answer may be a moment old: a topic just made need not be in it yet."""
        topics = self._connection.metadata(self._timeout_s).topics
        return all(
            name in topics
            and len(topics[name].partitions) == partitions
            and all(p.leader >= 0 for p in topics[name].partitions.values())
            for name in destinations
        )

    def _metadata_with(self, destinations: tuple[str, ...]) -> Any:
        """Metadata that has those of the topics in it that we made: they exist, but any broker may answer, and one may
        not have heard of them yet."""
        expected = self._made.intersection(destinations)
        until = time.monotonic() + self._timeout_s
        while True:
            metadata = self._connection.metadata(self._timeout_s)
            if expected <= metadata.topics.keys() or time.monotonic() > until:
                return metadata
            time.sleep(0.1)

    def _replicas(self, metadata: Any, name: str) -> dict[str, str]:
        topic = metadata.topics.get(name)
        if topic is None or not topic.partitions:
            raise BrokerError(f"Kafka at {self._connection.addresses} has no topic {name}")
        fewest = min(len(p.replicas) for p in topic.partitions.values())
        return {"partitions": str(len(topic.partitions)), "replication_factor": str(fewest)}


def create_topics(
    connection: Client,
    names: Iterable[str],
    partitions: int,
    replicas: int,
    config: dict[str, str],
    *,
    may_exist: bool = False,
    within_s: float = _TIMEOUT_S,
) -> None:
    """Make topics that are all alike. Those of very many partitions get them in several requests. Raises BrokerError."""
    from confluent_kafka import KafkaError
    from confluent_kafka.admin import NewPartitions  # type: ignore[attr-defined]
    from confluent_kafka.cimpl import NewTopic

    limits = {"operation_timeout": within_s, "request_timeout": within_s}
    first = min(partitions, _PARTITIONS_AT_ONCE)
    wanted_names, at_once = list(names), _PARTITIONS_AT_ONCE // first
    for some in (wanted_names[i : i + at_once] for i in range(0, len(wanted_names), at_once)):
        topics = [NewTopic(n, num_partitions=first, replication_factor=replicas, config=config) for n in some]
        for name, future in connection.admin.create_topics(topics, **limits).items():
            fine = (KafkaError.TOPIC_ALREADY_EXISTS,) if may_exist else ()
            _result(connection, f"topic {name} could not be created", future, fine, within_s)
        for reached in range(first, partitions, _PARTITIONS_AT_ONCE):
            wanted = min(reached + _PARTITIONS_AT_ONCE, partitions)
            grown = connection.admin.create_partitions([NewPartitions(name, wanted) for name in some], **limits)
            for name, future in grown.items():
                _result(connection, f"topic {name} could not get {wanted} partitions", future, (), within_s)


def _result(
    connection: Client, what: str, future: Future[Any], fine: tuple[int, ...] = (), within_s: float = _TIMEOUT_S
) -> Any:
    """What was asked for; None when it failed with a code that is `fine`."""
    from confluent_kafka import KafkaException

    try:
        return future.result(2 * within_s)
    except KafkaException as e:
        if e.args[0].code() in fine:
            return None
        raise BrokerError(f"{what}: {e.args[0].str()} (Kafka at {connection.addresses})") from e
    except TimeoutError as e:
        raise BrokerError(f"{what}: no answer from Kafka at {connection.addresses}") from e


def topic_durability(topic: Mapping[str, str], acks: str) -> ComputedDurability:
    """The level of one topic from its settings as read back."""
    return computed_durability(
        replication_factor=int(topic["replication_factor"]),
        min_insync_replicas=int(topic["min.insync.replicas"]),
        flush_messages=int(topic["flush.messages"]),
        acks=acks,
    )
