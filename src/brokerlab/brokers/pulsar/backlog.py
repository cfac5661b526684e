"""What a group has not acknowledged yet, in messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from brokerlab.brokers.pulsar.rest import ANSWER_S, Rest, topic_path
from brokerlab.brokers.pulsar.settings import namespace_of
from brokerlab.errors import BrokerError
from brokerlab.model.patience import patience_s
from brokerlab.model.plan import AgentPlan

_COUNT_SINGLY_BELOW = 1000  # entries


class Backlog:
    """Asks the brokers. Pulsar counts *entries*, which are whole batches; few of them are read to count messages."""

    def __init__(self, plan: AgentPlan) -> None:
        assert plan.group is not None
        self._rest = Rest(plan.endpoint, patience_s(ANSWER_S, len(plan.destinations) * plan.partitions))
        self._namespace = namespace_of(plan.durability)
        self._destinations = plan.destinations
        self._partitions = plan.partitions
        self._group = plan.group

    def remaining(self) -> int:
        """Exact below a thousand entries in a destination; above that the number of entries, which is not more. Raises
        BrokerError when the brokers do not know, as after the death of one: no figures are not a zero."""
        return sum(map(self._of_destination, self._destinations))

    def _of_destination(self, destination: str) -> int:
        base = topic_path(self._namespace, destination)
        wanted = "getPreciseBacklog=true&subscriptionBacklogSize=false&perPartition=true"
        partitions = self._rest.get(f"{base}/partitioned-stats?{wanted}")["partitions"]
        if len(partitions) != self._partitions:
            raise BrokerError(
                f"Pulsar has figures of {len(partitions)} of {self._partitions} partitions of {destination}"
            )
        entries = {topic: self._entries(topic, stats) for topic, stats in partitions.items()}
        total = sum(entries.values())
        if total >= _COUNT_SINGLY_BELOW:
            return total
        return sum(self._messages(topic) for topic, count in entries.items() if count)

    def _entries(self, topic: str, stats: Mapping[str, Any]) -> int:
        """A partition that no broker serves at the moment is there with no subscription."""
        mine = stats["subscriptions"].get(self._group)
        if mine is None:
            raise BrokerError(f"Pulsar has no figures of {self._group} on {topic}")
        return int(mine["msgBacklog"])

    def _messages(self, topic: str) -> int:
        base = topic_path(self._namespace, topic.rpartition("/")[2])
        found = self._rest.request("POST", f"{base}/subscription/{quote(self._group, safe='')}/analyzeBacklog")
        return int(found["messages"])
