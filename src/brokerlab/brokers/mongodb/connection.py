"""How to connect: to MongoDB's protocol by pymongo, and to the PostgreSQL behind FerretDB."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import pymongo
from pymongo.database import Database
from pymongo.errors import PyMongoError

from brokerlab.brokers.kit.refusals import explained_by, words_of
from brokerlab.brokers.kit.wire import credentials
from brokerlab.brokers.mongodb.settings import WriteConcern
from brokerlab.errors import BrokerError
from brokerlab.model.plan import Endpoint


class NoDestinationError(LookupError):
    """It is not among those that were made."""


Document = dict[str, Any]
Client = pymongo.MongoClient[Document]
PATH = f"python (pymongo {pymongo.version})"
DATABASE = "brokerlab"
_SELECT_MS = 2_000  # until a server that does not answer is given up
_ANSWER_MS = 60_000


def connect(endpoint: Endpoint, name: str, asked: WriteConcern) -> Client:
    """Connects when it is first used. Nothing is sent again by itself: a driver would not know."""
    options: dict[str, Any] = {
        "appname": name,
        "serverSelectionTimeoutMS": _SELECT_MS,
        "connectTimeoutMS": _SELECT_MS,
        "socketTimeoutMS": _ANSWER_MS,
        "retryWrites": False,
        "w": int(asked.w) if asked.w.isdecimal() else asked.w,
        "journal": asked.j,
    }
    if "replica_set" in endpoint.options:
        options["replicaSet"] = endpoint.options["replica_set"]
    else:
        options["directConnection"] = len(endpoint.addresses) == 1
    security = endpoint.security
    if security is not None and security.tls:
        options |= {"tls": True, **({"tlsCAFile": security.ca_file} if security.ca_file else {})}
    if security is not None and security.user is not None:
        user, password = credentials(security)
        options |= {"username": user, "password": password}
    return pymongo.MongoClient(list(endpoint.addresses), **options)


def database_of(client: Client, endpoint: Endpoint) -> Database[Document]:
    return client[endpoint.options.get("database", DATABASE)]


def explained(error: Exception, endpoint: Endpoint) -> BrokerError:
    said = words_of(error)
    hint = "check user and password" if "uthentication" in said else "is the server running, and its database?"
    return BrokerError(f"MongoDB at {', '.join(endpoint.addresses)}: {said}", hint=hint)


def refusals(endpoint: Endpoint, client: Client | None = None) -> AbstractContextManager[None]:
    """Whatever the library raises becomes a BrokerError, and a client that could not be begun is closed."""
    close = (lambda: None) if client is None else client.close
    return explained_by(lambda e: explained(e, endpoint), PyMongoError, NoDestinationError, close=close)
