"""Topics by Kafka's protocol, settings by both, and the durability that follows from them."""

from __future__ import annotations

from collections.abc import Callable

from brokerlab.brokers.contract import Admin, ComputedDurability
from brokerlab.brokers.kit.http_reader import as_text
from brokerlab.brokers.redpanda.api import AdminApi
from brokerlab.brokers.redpanda.settings import (
    acks_of,
    computed_durability,
    replicas_of,
    topic_settings,
    write_caching,
)
from brokerlab.model.plan import CellPlan, Durability, Endpoint

TopicAdmin = Callable[[Endpoint, CellPlan, int, dict[str, str]], Admin]  # makes topics with so many replicas, and these


class RedpandaAdmin:
    """See brokers.contract.Admin. `topic_admin` makes the part that speaks Kafka's protocol."""

    def __init__(self, endpoint: Endpoint, cell: CellPlan, topic_admin: TopicAdmin) -> None:
        self._cell = cell
        self._api = AdminApi(endpoint)
        self._default: str | None = None
        cluster = self._api.cluster_settings()
        if "write_caching_default" in cluster:
            self._default = as_text(cluster["write_caching_default"])
        plain = endpoint.model_copy(update={"options": {}})
        self._topics = topic_admin(plain, cell, replicas_of(cell), topic_settings(cell, self._default))

    def create(self, destinations: tuple[str, ...], partitions: int, groups: tuple[str, ...]) -> None:
        self._topics.create(destinations, partitions, groups)

    def delete(self, destinations: tuple[str, ...], groups: tuple[str, ...]) -> None:
        self._topics.delete(destinations, groups)

    def effective_settings(self, destinations: tuple[str, ...]) -> dict[str, dict[str, str]]:
        """As Kafka's protocol and the Admin API tell; what the latter keeps secret comes masked from it."""
        found = self._topics.effective_settings(destinations)
        cluster = {name: as_text(value) for name, value in self._api.cluster_settings().items() if value is not None}
        if cluster:
            found["cluster"] = cluster
        for member in self._api.brokers():
            found[f"node:{member.get('node_id')}"] = {name: as_text(value) for name, value in member.items()}
        return found

    def durability(self, destinations: tuple[str, ...]) -> ComputedDurability:
        """The weakest level of the topics, with the acks this cell's producers ask for."""
        settings, developer = self._topics.effective_settings(destinations), self._api.developer_mode()
        acks = acks_of(self._cell.durability, self._cell.client_settings)
        levels = [self._of_topic(settings[f"topic:{name}"], acks, developer) for name in destinations]
        return max(levels, key=lambda computed: list(Durability).index(computed.level))

    def _of_topic(self, topic: dict[str, str], acks: str, developer: bool | None) -> ComputedDurability:
        caching = write_caching(topic, self._default)
        return computed_durability(acks, int(topic["replication_factor"]), caching, developer)

    def close(self) -> None:
        self._topics.close()
