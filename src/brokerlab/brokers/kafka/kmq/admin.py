"""Destinations with their markers topics."""

from __future__ import annotations

from brokerlab.brokers.kafka.access import Client
from brokerlab.brokers.kafka.admin import KafkaAdmin, create_topics
from brokerlab.brokers.kafka.kmq.markers import is_markers_topic_of, markers_topic, tracker_group
from brokerlab.brokers.kafka.settings import replication_factor, topic_settings
from brokerlab.model.plan import AgentPlan


class KmqAdmin(KafkaAdmin):
    """Makes and deletes markers topics along with the destinations; they are as durable as these."""

    def create(self, destinations: tuple[str, ...], partitions: int, groups: tuple[str, ...]) -> None:
        both = tuple(markers_topic(d, g) for d in destinations for g in groups)
        super().create((*destinations, *both), partitions, ())

    def delete(self, destinations: tuple[str, ...], groups: tuple[str, ...]) -> None:
        known = self._connection.metadata().topics
        theirs = tuple(t for t in known for d in destinations if is_markers_topic_of(t, d))
        super().delete((*destinations, *theirs), (*groups, *map(tracker_group, groups)))


def ensure_markers(plan: AgentPlan) -> None:
    """Make markers topics that are not there: a group that was not announced can read all the same."""
    assert plan.group is not None
    client = Client(plan.endpoint, plan.client_settings)
    known = client.metadata().topics
    missing = [t for d in plan.destinations if (t := markers_topic(d, plan.group)) not in known]
    if missing:
        factor = replication_factor(plan.durability, {})
        create_topics(client, missing, plan.partitions, factor, topic_settings(plan.durability, {}), may_exist=True)
