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
from pymongo.database import Database
from pymongo.errors import CollectionInvalid

from brokerlab.brokers.kit.names import belongs
from brokerlab.brokers.mongodb.connection import Document, NoDestinationError

REGISTRY = "destinations"


def collection_name(destination: str, number: int) -> str:
    return f"{destination}.{number}"


def create_destination(database: Database[Document], destination: str, groups: Sequence[str]) -> None:
    named: list[str | None] = list(groups) or [None]
    for number in range(1, len(named) + 1):
        database.create_collection(collection_name(destination, number))
    database[REGISTRY].insert_one({"_id": destination, "groups": named})


def drop_destination(database: Database[Document], destination: str) -> None:
    """Its collections first: one that is left behind can still be found."""
    for name in collections_of(database, destination):
        database.drop_collection(name)
    database[REGISTRY].delete_one({"_id": destination})


def collections_of(database: Database[Document], destination: str) -> list[str]:
    """Those that exist, whatever the registry says."""
    return sorted(name for name in database.list_collection_names() if belongs(name, destination))


def groups_of(database: Database[Document], destination: str) -> list[str | None]:
    """Raises NoDestinationError."""
    found = database[REGISTRY].find_one({"_id": destination})
    if found is None:
        raise NoDestinationError(f"there is no destination {destination}")
    groups: list[str | None] = found["groups"]
    return groups


def ensure_group(database: Database[Document], destination: str, group: str) -> int:
    """The group's number in this destination; made if it does not exist. Two consumers at once make one group."""
    registry = database[REGISTRY]
    registry.update_one({"_id": destination, "groups": [None]}, {"$set": {"groups": [group]}})
    while group not in (known := groups_of(database, destination)):
        with contextlib.suppress(CollectionInvalid):  # another one makes a group at the same time
            database.create_collection(collection_name(destination, len(known) + 1))
        registry.update_one({"_id": destination, "groups": known}, {"$push": {"groups": group}})
    return known.index(group) + 1


class Identities:
    """Growing numbers as the documents' `_id`, no two alike from any two producers: nanoseconds, then a random number."""

    def __init__(self) -> None:
        self._own = os.urandom(4)
        self._last = 0

    def take(self, count: int) -> list[ObjectId]:
        first = max(time.time_ns(), self._last + 1)
        self._last = first + count - 1
        return [ObjectId(number.to_bytes(8, "big") + self._own) for number in range(first, first + count)]
