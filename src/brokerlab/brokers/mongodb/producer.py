"""Publishing: a batch is one insert_many into the collection of every group."""

from __future__ import annotations

from pymongo.errors import DocumentTooLarge, PyMongoError

from brokerlab.brokers.kit.blocking import Batch, BlockingProducer, Told
from brokerlab.brokers.kit.database_settings import LeaseSettings
from brokerlab.brokers.mongodb.connection import PATH, Document, NoDestinationError, connect, database_of, refusals
from brokerlab.brokers.mongodb.outcomes import told_of
from brokerlab.brokers.mongodb.queues import REGISTRY, Identities, collection_name, groups_of
from brokerlab.brokers.mongodb.settings import write_concern
from brokerlab.model.blocks import ACKNOWLEDGED, UNKNOWN
from brokerlab.model.plan import AgentPlan


class MongodbProducer(BlockingProducer):
    """See brokers.contract.Producer."""

    path = PATH

    def __init__(self, plan: AgentPlan, number: int) -> None:
        settings = LeaseSettings.of(plan.client_settings)
        name = f"{plan.agent}-{number}"
        self._destinations, self._partitions = plan.destinations, plan.partitions
        self._identities = Identities()
        self._client = connect(plan.endpoint, name, write_concern(plan.durability, plan.client_settings))
        self._database = database_of(self._client, plan.endpoint)
        with refusals(plan.endpoint, self._client):
            self._database[REGISTRY].find_one({})  # a ping would be answered without a password
        super().__init__(name, settings.batch_messages, settings.batch_bytes)

    def _publish(self, batch: Batch) -> list[Told]:
        told: list[Told] = []
        for number, part in batch.by(self._partitions).items():
            told += self._publish_to(self._destinations[number], part)
        return told

    def _publish_to(self, destination: str, batch: Batch) -> list[Told]:
        """Into the collections of all groups that there are now: who has subscribed before `send` gets it."""
        try:
            groups = len(groups_of(self._database, destination))
        except (PyMongoError, NoDestinationError) as e:  # nothing was sent; a lost connection is unknown all the same
            return [Told(batch.numbers(), UNKNOWN, type(e).__name__)]
        documents: list[Document] = [
            {"_id": identity, "n": 0, "c": 0, "m": payload}
            for identity, payload in zip(self._identities.take(len(batch)), batch.payloads, strict=True)
        ]
        for number in range(1, groups + 1):
            try:
                self._database[collection_name(destination, number)].insert_many(documents)
            except (PyMongoError, DocumentTooLarge) as e:
                return told_of(e, batch, first=number == 1, last=number == groups)
        return [Told(batch.numbers(), ACKNOWLEDGED)]

    def _disconnect(self) -> None:
        self._client.close()
