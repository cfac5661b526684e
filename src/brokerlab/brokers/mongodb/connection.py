"""How to connect to MongoDB's protocol, by pymongo, and what its errors say to people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pymongo
from pymongo.errors import PyMongoError

from brokerlab.brokers.kit.refusals import Refusals
from brokerlab.brokers.kit.wire import credentials
from brokerlab.model.plan import Endpoint

Document = dict[str, Any]
_SELECT_MS = 2_000  # until a server that does not answer is given up
_ANSWER_MS = 60_000
_HINT = "is the server running, and its database?"
REFUSALS = Refusals("MongoDB", (PyMongoError,), _HINT, {"uthentication": "check user and password"})


def connect(endpoint: Endpoint, name: str, concern: Mapping[str, str]) -> pymongo.MongoClient[Document]:
    """Connects when it is first used. Nothing is sent again by itself: a driver would not know."""
    security, w = endpoint.security, concern["w"]
    options: dict[str, Any] = {
        "appname": name,
        "serverSelectionTimeoutMS": _SELECT_MS,
        "connectTimeoutMS": _SELECT_MS,
        "socketTimeoutMS": _ANSWER_MS,
        "retryWrites": False,
        "w": int(w) if w.isdecimal() else w,
        "journal": concern["j"] == "true",
    }
    if "replica_set" in endpoint.options:
        options["replicaSet"] = endpoint.options["replica_set"]
    else:
        options["directConnection"] = len(endpoint.addresses) == 1
    if security is not None and security.tls:
        options |= {"tls": True, **({"tlsCAFile": security.ca_file} if security.ca_file else {})}
    if security is not None and security.user is not None:
        options["username"], options["password"] = credentials(security)
    return pymongo.MongoClient(list(endpoint.addresses), **options)
