"""Destinations and groups, the durability that follows from what the servers report, and their own figures: FerretDB's
page, PostgreSQL's statistics, mongod's status."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping

from pymongo.errors import PyMongoError

from brokerlab.brokers.contract import ComputedDurability, Reading
from brokerlab.brokers.kit.database import Database
from brokerlab.brokers.kit.http_reader import as_text, read_text
from brokerlab.brokers.kit.probing import NodeByNodeProbe, page_readings, readings_of
from brokerlab.brokers.mongodb.metrics import BEHIND, FERRETDB, MONGOD
from brokerlab.brokers.mongodb.queues import REFUSALS, Queues, connect
from brokerlab.brokers.mongodb.settings import POSTGRESQL, by_commit, by_write_concern, write_concern
from brokerlab.errors import BrokerError
from brokerlab.model.plan import CellPlan, Durability, Endpoint
from brokerlab.model.watched import fields_of

_EXTENSION = "SELECT extname, extversion FROM pg_extension WHERE extname = 'documentdb'"


class MongodbAdmin(Queues):
    """See brokers.contract.Admin."""

    def __init__(self, endpoint: Endpoint, cell: CellPlan) -> None:
        super().__init__(endpoint, "brokerlab-admin", cell)
        with REFUSALS.at(endpoint, self.close):
            self._build = self._client.admin.command("buildInfo")

    def effective_settings(self, destinations: tuple[str, ...]) -> dict[str, dict[str, str]]:
        with REFUSALS.at(self._endpoint):
            hello = self._client.admin.command("hello")
            found: dict[str, dict[str, str]] = {
                "server": self._product(),
                "replica set": {n: as_text(hello[n]) for n in ("setName", "hosts", "primary") if n in hello},
                "postgresql": self._postgresql(),
                "clients": self._concern,
            }
            for destination in destinations:
                with contextlib.suppress(LookupError):
                    groups = [group or "the first that comes" for group in self.groups(destination)]
                    told = {"groups": groups, "collections": self.names(destination)}
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
        address = self._endpoint.options.get("postgresql")
        if address is None or "ferretdb" not in self._build:
            return {}
        try:
            with contextlib.closing(Database(address, self._endpoint.security)) as behind:
                return behind.settings("server_version", *POSTGRESQL) | dict(behind.ask(_EXTENSION))
        except OSError as e:
            raise BrokerError(f"PostgreSQL behind FerretDB: {e}", hint="see the endpoint's option postgresql") from e

    def durability(self, destinations: tuple[str, ...]) -> ComputedDurability:
        with REFUSALS.at(self._endpoint):
            for destination in destinations:  # a level of what does not exist would be no level
                self.groups(destination)
            hello = self._client.admin.command("hello")
        if "ferretdb" in self._build:
            return by_commit(self._postgresql())
        return by_write_concern(self._concern, len(hello["hosts"]) if "setName" in hello else 1)


class MongodbProbe(NodeByNodeProbe):
    """See brokers.contract.BrokerProbe."""

    unanswered = (PyMongoError,)
    _kept: dict[str, Database]

    def _of(self, subject: str, urls: Mapping[str, str]) -> list[Reading]:
        if "metrics" in urls:
            return page_readings(subject, read_text(urls["metrics"], 1.0), FERRETDB)
        if "postgresql" in urls:
            database = self._kept.setdefault(subject, Database(urls["postgresql"], self._endpoint.security))
            return database.readings(subject, BEHIND)
        with connect(self._endpoint, "brokerlab-probe", write_concern(Durability.L4, {})) as client:
            told = client.admin.command("serverStatus")["opcounters"]
        return readings_of(subject, told, fields_of(MONGOD, "opcounters"))
