"""What a group has not acknowledged yet, in messages."""

from __future__ import annotations

from urllib.parse import quote

from brokerlab.brokers.pulsar.rest import Rest, topic_path
from brokerlab.brokers.pulsar.settings import namespace_of
from brokerlab.model.plan import AgentPlan

_COUNT_SINGLY_BELOW = 1000  # entries


class Backlog:
    """Asks the brokers. Pulsar counts *entries*, which are whole batches; few of them are read to count messages."""

    def __init__(self, plan: AgentPlan) -> None:
        assert plan.group is not None
        self._rest = Rest(plan.endpoint)
        self._namespace = namespace_of(plan.durability)
        self._destinations = plan.destinations
        self._group = plan.group

    def remaining(self) -> int:
        """Exact below a thousand entries in a destination; above that the number of entries, which is not more."""
        return sum(map(self._of_destination, self._destinations))

    def _of_destination(self, destination: str) -> int:
        base = topic_path(self._namespace, destination)
        wanted = "getPreciseBacklog=true&subscriptionBacklogSize=false&perPartition=true"
        partitions = self._rest.get(f"{base}/partitioned-stats?{wanted}")["partitions"]
        entries = {
            topic: int(stats["subscriptions"].get(self._group, {}).get("msgBacklog", 0))
            for topic, stats in partitions.items()
        }
        total = sum(entries.values())
        if total >= _COUNT_SINGLY_BELOW:
            return total
        return sum(self._messages(topic) for topic, count in entries.items() if count)

    def _messages(self, topic: str) -> int:
        base = topic_path(self._namespace, topic.rpartition("/")[2])
        found = self._rest.request("POST", f"{base}/subscription/{quote(self._group, safe='')}/analyzeBacklog")
        return int(found["messages"])
