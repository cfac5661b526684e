"""The queue in collections: one for each group of a destination, with a document for each message.

    NAME.1, NAME.2, ...   {_id: in the order of publishing, n: next delivery, c: deliveries, m: the message}
    destinations          {_id: NAME, groups: [name of group 1, name of group 2, ...]}

A destination without groups has one collection, for the first group that comes: what was published before is its own.
They are reached by pymongo.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Mapping
from typing import Any

import pymongo
from bson import ObjectId
from pymongo.collection import Collection
from pymongo.errors import CollectionInvalid, PyMongoError

from brokerlab.brokers.kit.names import belongs
from brokerlab.brokers.kit.refusals import Refusals
from brokerlab.brokers.kit.wire import credentials
from brokerlab.brokers.mongodb.settings import write_concern
from brokerlab.model.plan import AgentPlan, CellPlan, Endpoint

Document = dict[str, Any]
_SELECT_MS = 2_000  # until a server that does not answer is given up
_ANSWER_MS = 60_000
_HINT = "is the server running, and its database?"
REFUSALS = Refusals("MongoDB", (PyMongoError, LookupError), _HINT, {"uthentication": "check user and password"})


def connect(endpoint: Endpoint, name: str, concern: Mapping[str, str]) -> pymongo.MongoClient[Document]:
    """Connects when it is first used. Nothing is sent again by itself: a driver would not know."""
    security, w, replica_set = endpoint.security, concern["w"], endpoint.options.get("replica_set")
    options: dict[str, Any] = {
        "appname": name,
        "serverSelectionTimeoutMS": _SELECT_MS,
        "connectTimeoutMS": _SELECT_MS,
        "socketTimeoutMS": _ANSWER_MS,
        "retryWrites": False,
        "w": int(w) if w.isdecimal() else w,
        "journal": concern["j"] == "true",
        "replicaSet": replica_set,
        "directConnection": replica_set is None and len(endpoint.addresses) == 1,
    }
    if security is not None and security.tls:
        options |= {"tls": True, **({"tlsCAFile": security.ca_file} if security.ca_file else {})}
    if security is not None and security.user is not None:
        options["username"], options["password"] = credentials(security)
    return pymongo.MongoClient(list(endpoint.addresses), **options)


class Queues:
    """Those of an endpoint, over a client of their own. Where no other error is named, PyMongoError is raised."""

    def __init__(self, endpoint: Endpoint, name: str, asked: AgentPlan | CellPlan) -> None:
        """Raises BrokerError where the server does not answer or asks for another login."""
        self._endpoint = endpoint
        self._concern = write_concern(asked.durability, asked.client_settings)
        self._client = connect(endpoint, name, self._concern)
        self._database = self._client[endpoint.options.get("database", "brokerlab")]
        self._registry = self._database["destinations"]
        with REFUSALS.at(endpoint, self.close):
            self._registry.find_one({})  # a ping would be answered without a password

    def create(self, destinations: tuple[str, ...], partitions: int, groups: tuple[str, ...]) -> None:  # noqa: ARG002
        """Partitions need nothing: messages of all of them are in one collection, in the order of publishing. Raises
        BrokerError."""
        named: list[str | None] = list(groups) or [None]
        with REFUSALS.at(self._endpoint):
            for destination in destinations:
                for number in range(1, len(named) + 1):
                    self._database.create_collection(self.of(destination, number).name)
                self._registry.insert_one({"_id": destination, "groups": named})

    def delete(self, destinations: tuple[str, ...], groups: tuple[str, ...]) -> None:  # noqa: ARG002 - end with it
        """Collections first: one that is left behind can still be found. Raises BrokerError."""
        with REFUSALS.at(self._endpoint):
            for destination in destinations:
                for name in self.names(destination):
                    self._database.drop_collection(name)
                self._registry.delete_one({"_id": destination})

    def close(self) -> None:
        self._client.close()

    def of(self, destination: str, number: int) -> Collection[Document]:
        """That of group `number`, from 1."""
        return self._database[f"{destination}.{number}"]

    def names(self, destination: str) -> list[str]:
        """Of the collections that exist, whatever the registry says."""
        return sorted(name for name in self._database.list_collection_names() if belongs(name, destination))

    def groups(self, destination: str) -> list[str | None]:
        """Raises LookupError where there is no such destination."""
        found = self._registry.find_one({"_id": destination})
        if found is None:
            raise LookupError(f"there is no destination {destination}")
        return list(found["groups"])

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
