"""Destinations and groups, the durability that follows from what the servers report, and their own figures: FerretDB's
page, PostgreSQL's statistics, mongod's status."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping

from pymongo.errors import PyMongoError

from brokerlab.brokers.contract import ComputedDurability, NodeInfo, Reading
from brokerlab.brokers.kit.database import Database
from brokerlab.brokers.kit.http_reader import as_text, read_text
from brokerlab.brokers.kit.probing import NodeByNodeProbe, page_readings, readings_of
from brokerlab.brokers.mongodb.connection import REFUSALS, connect
from brokerlab.brokers.mongodb.metrics import BEHIND, FERRETDB, MONGOD
from brokerlab.brokers.mongodb.queues import Queues
from brokerlab.brokers.mongodb.settings import POSTGRESQL, by_commit, by_write_concern, write_concern
from brokerlab.errors import BrokerError
from brokerlab.model.plan import CellPlan, Durability, Endpoint
from brokerlab.model.watched import fields_of

_EXTENSION = "SELECT extname, extversion FROM pg_extension WHERE extname = 'documentdb'"


class MongodbAdmin:
    """See brokers.contract.Admin."""

    def __init__(self, endpoint: Endpoint, cell: CellPlan) -> None:
        self._endpoint = endpoint
        self._queues = Queues(endpoint, "brokerlab-admin", cell)
        address = endpoint.options.get("postgresql")
        self._behind = None if address is None else Database(address, endpoint.security)
        with REFUSALS.at(endpoint, self._queues.client.close):
            self._build = self._queues.client.admin.command("buildInfo")

    def create(self, destinations: tuple[str, ...], partitions: int, groups: tuple[str, ...]) -> None:  # noqa: ARG002
        """Partitions need nothing: messages of all of them are in one collection, in the order of publishing."""
        with REFUSALS.at(self._endpoint):
            for destination in destinations:
                self._queues.create(destination, groups)

    def delete(self, destinations: tuple[str, ...], groups: tuple[str, ...]) -> None:  # noqa: ARG002 - end with it
        with REFUSALS.at(self._endpoint):
            for destination in destinations:
                self._queues.drop(destination)

    def effective_settings(self, destinations: tuple[str, ...]) -> dict[str, dict[str, str]]:
        with REFUSALS.at(self._endpoint):
            hello = self._queues.client.admin.command("hello")
            found: dict[str, dict[str, str]] = {
                "server": self._product(),
                "replica set": {n: as_text(hello[n]) for n in ("setName", "hosts", "primary") if n in hello},
                "postgresql": self._postgresql(),
                "clients": self._queues.concern,
            }
            for destination in destinations:
                with contextlib.suppress(BrokerError):
                    groups = [group or "the first that comes" for group in self._queues.groups(destination)]
                    told = {"groups": groups, "collections": self._queues.names(destination)}
                    found[f"destination:{destination}"] = {name: ", ".join(words) for name, words in told.items()}
        return {subject: values for subject, values in found.items() if values}

    def _product(self) -> dict[str, str]:
        """FerretDB reports the version of a MongoDB that it resembles, and its own beside it."""
        version, own = str(self._build.get("version")), self._build.get("ferretdb")
        if own is None:
            return {"product": "MongoDB", "version": version}
        return {"product": "FerretDB", "version": str(own.get("version")), "resembles": f"MongoDB {version}"}

    def _postgresql(self) -> dict[str, str]:
        """Nothing where the endpoint does not name it."""
        if self._behind is None or "ferretdb" not in self._build:
            return {}
        try:
            return self._behind.settings("server_version", *POSTGRESQL) | dict(self._behind.ask(_EXTENSION))
        except OSError as e:
            raise BrokerError(f"PostgreSQL behind FerretDB: {e}", hint="see the endpoint's option postgresql") from e

    def durability(self, destinations: tuple[str, ...]) -> ComputedDurability:
        with REFUSALS.at(self._endpoint):
            for destination in destinations:  # a level of what does not exist would be no level
                self._queues.groups(destination)
            hello = self._queues.client.admin.command("hello")
        if "ferretdb" in self._build:
            return by_commit(self._postgresql())
        return by_write_concern(self._queues.concern, len(hello["hosts"]) if "setName" in hello else 1)

    def close(self) -> None:
        self._queues.client.close()
        if self._behind is not None:
            self._behind.close()


class MongodbProbe(NodeByNodeProbe):
    """See brokers.contract.BrokerProbe."""

    unanswered = (PyMongoError,)

    def __init__(self, endpoint: Endpoint, nodes: tuple[NodeInfo, ...]) -> None:
        super().__init__(endpoint, nodes)
        addresses = {node.urls["postgresql"] for node in nodes if "postgresql" in node.urls}
        self._databases = {address: Database(address, endpoint.security) for address in addresses}

    def _of(self, subject: str, urls: Mapping[str, str]) -> list[Reading]:
        if "metrics" in urls:
            return page_readings(subject, read_text(urls["metrics"], 1.0), FERRETDB)
        if "postgresql" in urls:
            return self._databases[urls["postgresql"]].readings(subject, BEHIND)
        with connect(self._endpoint, "brokerlab-probe", write_concern(Durability.L4, {})) as client:
            told = client.admin.command("serverStatus")["opcounters"]
        return readings_of(subject, told, fields_of(MONGOD, "opcounters"))
