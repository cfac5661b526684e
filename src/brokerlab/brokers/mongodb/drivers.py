"""Publishing: a batch is one insert_many into the collection of every group. Receiving: findAndModify leases the first
message that is due, by a time of its next delivery; deleting acknowledges."""

from __future__ import annotations

import time
from collections.abc import Hashable, Sequence

import pymongo
from pymongo.errors import ConnectionFailure, DocumentTooLarge, OperationFailure, PyMongoError

from brokerlab.brokers.kit.blocking import Batch, BlockingProducer, Told
from brokerlab.brokers.kit.database_settings import LeaseSettings
from brokerlab.brokers.kit.fine import fine_if
from brokerlab.brokers.kit.leasing import Leased, LeasingConsumer
from brokerlab.brokers.mongodb.outcomes import told_of
from brokerlab.brokers.mongodb.queues import REFUSALS, Document, Identities, Queues
from brokerlab.model.blocks import ACKNOWLEDGED, UNKNOWN
from brokerlab.model.plan import AgentPlan

PATH = f"python (pymongo {pymongo.version})"
WRITE_CONFLICT = 112


class MongodbProducer(BlockingProducer):
    """See brokers.contract.Producer."""

    path = PATH

    def __init__(self, plan: AgentPlan, number: int) -> None:
        settings = LeaseSettings.of(plan.client_settings)
        self._destinations, self._identities = plan.destinations, Identities()
        name = f"{plan.agent}-{number}"
        self._queues = Queues(plan.endpoint, name, plan)
        super().__init__(name, settings.batch_messages, settings.batch_bytes, plan.partitions)

    def _publish(self, number: int, batch: Batch) -> list[Told]:
        """Into the collections of all groups that there are now: who has subscribed before `send` gets it."""
        destination = self._destinations[number]
        try:
            groups = len(self._queues.groups(destination))
        except (PyMongoError, LookupError) as e:  # nothing was sent; a lost connection is unknown all the same
            return [batch.told(UNKNOWN, type(e).__name__)]
        documents: list[Document] = [
            {"_id": identity, "n": 0, "c": 0, "m": payload}
            for identity, payload in zip(self._identities.take(len(batch)), batch.payloads, strict=True)
        ]
        for group in range(1, groups + 1):
            try:
                self._queues.of(destination, group).insert_many(documents)
            except (PyMongoError, DocumentTooLarge) as e:
                return told_of(e, batch, first=group == 1, last=group == groups)
        return [batch.told(ACKNOWLEDGED)]

    def _disconnect(self) -> None:
        self._queues.close()


class MongodbConsumer(LeasingConsumer):
    """See brokers.contract.Consumer."""

    path = PATH
    lost, refusals = ConnectionFailure, REFUSALS

    def __init__(self, plan: AgentPlan, number: int) -> None:
        assert plan.group is not None
        self._queues = Queues(plan.endpoint, f"{plan.agent}-{number}", plan)
        with REFUSALS.at(plan.endpoint, self._queues.close):
            self._collections = [self._queues.of_group(destination, plan.group) for destination in plan.destinations]
        super().__init__(plan, number, len(self._collections))

    def _take(self, queue: int, most: int) -> list[Leased]:  # noqa: ARG002 - one at a time
        now_ms, collection = time.time_ns() // 1_000_000, self._collections[queue]
        due, order = {"n": {"$lte": now_ms}}, [("_id", pymongo.ASCENDING)]
        found = None
        with fine_if(OperationFailure, lambda e: e.code == WRITE_CONFLICT):  # another consumer was faster
            if self._automatic:
                found = collection.find_one_and_delete(due, sort=order)
            else:
                again_ms = now_ms + max(1, self._settings.visibility_ns // 1_000_000)
                lease, after = {"$set": {"n": again_ms}, "$inc": {"c": 1}}, pymongo.ReturnDocument.AFTER
                found = collection.find_one_and_update(due, lease, sort=order, return_document=after)
        return [] if found is None else [Leased(found["_id"], found["m"], found["c"] > 1)]

    def _delete(self, queue: int, identities: Sequence[Hashable]) -> None:
        self._collections[queue].delete_many({"_id": {"$in": identities}})

    def _count(self, queue: int) -> int:
        return self._collections[queue].count_documents({})

    def _give_back(self, queue: int, identities: Sequence[Hashable]) -> None:
        self._collections[queue].update_many({"_id": {"$in": identities}}, {"$set": {"n": 0}})

    def _disconnect(self) -> None:
        self._queues.close()
