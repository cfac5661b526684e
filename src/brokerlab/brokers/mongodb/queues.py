"""The queue in collections: one for each group of a destination, with a document for each message.

    NAME.1, NAME.2, ...   {_id: in the order of publishing, n: next delivery, c: deliveries, m: the message}
    destinations          {_id: NAME, groups: [name of group 1, name of group 2, ...]}

A destination without groups has one collection, for the first group that comes: what was published before is its own.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Sequence

from bson import ObjectId
from pymongo.collection import Collection
from pymongo.errors import CollectionInvalid

from brokerlab.brokers.kit.names import belongs
from brokerlab.brokers.mongodb.connection import REFUSALS, Document, connect
from brokerlab.brokers.mongodb.settings import write_concern
from brokerlab.errors import BrokerError
from brokerlab.model.plan import AgentPlan, CellPlan, Endpoint


class Queues:
    """Those of an endpoint, over a client of their own. Methods raise PyMongoError."""

    def __init__(self, endpoint: Endpoint, name: str, asked: AgentPlan | CellPlan) -> None:
        """Raises BrokerError where the server does not answer or asks for another login."""
        self.concern = write_concern(asked.durability, asked.client_settings)
        self.client = connect(endpoint, name, self.concern)
        self._database = self.client[endpoint.options.get("database", "brokerlab")]
        self._registry = self._database["destinations"]
        with REFUSALS.at(endpoint, self.client.close):
            self._registry.find_one({})  # a ping would be answered without a password

    def of(self, destination: str, number: int) -> Collection[Document]:
        """That of group `number`, from 1."""
        return self._database[f"{destination}.{number}"]

    def create(self, destination: str, groups: Sequence[str]) -> None:
        named: list[str | None] = list(groups) or [None]
        for number in range(1, len(named) + 1):
            self._database.create_collection(self.of(destination, number).name)
        self._registry.insert_one({"_id": destination, "groups": named})

    def drop(self, destination: str) -> None:
        """Its collections first: one that is left behind can still be found."""
        for name in self.names(destination):
            self._database.drop_collection(name)
        self._registry.delete_one({"_id": destination})

    def names(self, destination: str) -> list[str]:
        """Of the collections that exist, whatever the registry says."""
        return sorted(name for name in self._database.list_collection_names() if belongs(name, destination))

    def groups(self, destination: str) -> list[str | None]:
        """Raises BrokerError where there is no such destination."""
        found = self._registry.find_one({"_id": destination})
        if found is None:
            raise BrokerError(f"there is no destination {destination}")
        groups: list[str | None] = found["groups"]
        return groups

    def of_group(self, destination: str, group: str) -> Collection[Document]:
        """Made if it does not exist. Two consumers at once make one group."""
        self._registry.update_one({"_id": destination, "groups": [None]}, {"$set": {"groups": [group]}})
        while group not in (known := self.groups(destination)):
            with contextlib.suppress(CollectionInvalid):  # another one makes a group at the same time
                self._database.create_collection(self.of(destination, len(known) + 1).name)
            self._registry.update_one({"_id": destination, "groups": known}, {"$push": {"groups": group}})
        return self.of(destination, known.index(group) + 1)


class Identities:
    """Growing numbers as the documents' `_id`, no two alike from any two producers: nanoseconds, then a random number."""

    def __init__(self) -> None:
        self._own = os.urandom(4)
        self._last = 0

    def take(self, count: int) -> list[ObjectId]:
        first = max(time.time_ns(), self._last + 1)
        self._last = first + count - 1
        return [ObjectId(number.to_bytes(8, "big") + self._own) for number in range(first, first + count)]
