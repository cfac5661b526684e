"""Receiving: findAndModify leases the first message that is due, by a time of its next delivery; deleting acknowledges."""

from __future__ import annotations

import time
from collections.abc import Hashable, Sequence

from pymongo import ASCENDING, ReturnDocument
from pymongo.errors import ConnectionFailure, OperationFailure

from brokerlab.brokers.kit.database_settings import LeaseSettings
from brokerlab.brokers.kit.leasing import Leased, LeasingConsumer
from brokerlab.brokers.mongodb.connection import PATH, connect, database_of, explained, refusals
from brokerlab.brokers.mongodb.queues import collection_name, ensure_group
from brokerlab.brokers.mongodb.settings import write_concern
from brokerlab.errors import BrokerError
from brokerlab.model.plan import AgentPlan

WRITE_CONFLICT = 112


class MongodbConsumer(LeasingConsumer):
    """See brokers.contract.Consumer."""

    path = PATH
    lost = ConnectionFailure

    def __init__(self, plan: AgentPlan, number: int) -> None:
        assert plan.group is not None
        self._endpoint = plan.endpoint
        settings = LeaseSettings.of(plan.client_settings)
        self._lease_ms = max(1, settings.visibility_ns // 1_000_000)
        asked = write_concern(plan.durability, plan.client_settings)
        self._client = connect(plan.endpoint, f"{plan.agent}-{number}", asked)
        database = database_of(self._client, plan.endpoint)
        with refusals(plan.endpoint, self._client):
            groups = [(d, ensure_group(database, d, plan.group)) for d in plan.destinations]
        self._collections = [database[collection_name(d, of_group)] for d, of_group in groups]
        super().__init__(plan, number, len(self._collections), settings.poll_ns)

    def _take(self, queue: int, most: int) -> list[Leased]:  # noqa: ARG002 - one at a time
        now_ms, collection = time.time_ns() // 1_000_000, self._collections[queue]
        due, order = {"n": {"$lte": now_ms}}, [("_id", ASCENDING)]
        try:
            if self._automatic:
                found = collection.find_one_and_delete(due, sort=order)
            else:
                lease = {"$set": {"n": now_ms + self._lease_ms}, "$inc": {"c": 1}}
                found = collection.find_one_and_update(due, lease, sort=order, return_document=ReturnDocument.AFTER)
        except OperationFailure as e:
            if e.code != WRITE_CONFLICT:  # another consumer was faster
                raise
            found = None
        return [] if found is None else [Leased(found["_id"], found["m"], found["c"] > 1)]

    def _delete(self, queue: int, identities: Sequence[Hashable]) -> None:
        self._collections[queue].delete_many({"_id": {"$in": identities}})

    def _count(self, queue: int) -> int:
        return self._collections[queue].count_documents({})

    def _give_back(self, queue: int, identities: Sequence[Hashable]) -> None:
        self._collections[queue].update_many({"_id": {"$in": identities}}, {"$set": {"n": 0}})

    def _disconnect(self) -> None:
        self._client.close()

    def _refused(self, error: Exception) -> BrokerError:
        return explained(error, self._endpoint)
