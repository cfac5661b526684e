"""Destinations and groups, and the durability that follows from what the servers report."""

from __future__ import annotations

import contextlib

from pymongo.errors import PyMongoError

from brokerlab.brokers.contract import ComputedDurability
from brokerlab.brokers.kit.database import Database
from brokerlab.brokers.kit.http_reader import as_text
from brokerlab.brokers.mongodb.connection import Document, NoDestinationError, connect, database_of, refusals
from brokerlab.brokers.mongodb.queues import REGISTRY, collections_of, create_destination, drop_destination, groups_of
from brokerlab.brokers.mongodb.settings import POSTGRESQL, by_commit, by_write_concern, write_concern
from brokerlab.errors import BrokerError
from brokerlab.model.plan import CellPlan, Endpoint

_VERSIONS = "SELECT 'version', version() UNION ALL SELECT 'documentdb', extversion FROM pg_extension WHERE extname = 'documentdb'"


class MongodbAdmin:
    """See brokers.contract.Admin."""

    def __init__(self, endpoint: Endpoint, cell: CellPlan) -> None:
        self._endpoint = endpoint
        self._concern = write_concern(cell.durability, cell.client_settings)
        self._client = connect(endpoint, "brokerlab-admin", self._concern)
        self._database = database_of(self._client, endpoint)
        address = endpoint.options.get("postgresql")
        self._behind = None if address is None else Database(address, endpoint.security)
        with refusals(endpoint, self._client):
            self._build = self._client.admin.command("buildInfo")
            self._database[REGISTRY].find_one({})  # what was asked before would be answered without a password

    def _ask(self, command: str) -> Document:
        with refusals(self._endpoint):
            return self._client.admin.command(command)

    def create(self, destinations: tuple[str, ...], partitions: int, groups: tuple[str, ...]) -> None:  # noqa: ARG002
        """Partitions need nothing: messages of all of them are in one collection, in the order of publishing."""
        with refusals(self._endpoint):
            for destination in destinations:
                create_destination(self._database, destination, groups)

    def delete(self, destinations: tuple[str, ...], groups: tuple[str, ...]) -> None:  # noqa: ARG002 - end with it
        with refusals(self._endpoint):
            for destination in destinations:
                drop_destination(self._database, destination)

    def effective_settings(self, destinations: tuple[str, ...]) -> dict[str, dict[str, str]]:
        hello = self._ask("hello")
        found: dict[str, dict[str, str]] = {
            "server": self._product(),
            "replica set": {n: as_text(hello[n]) for n in ("setName", "hosts", "primary") if n in hello},
            "postgresql": self._postgresql(),
            "clients": {"w": self._concern.w, "j": str(self._concern.j).lower()},
        }
        with refusals(self._endpoint):
            for destination in destinations:
                with contextlib.suppress(NoDestinationError):
                    groups = [group or "the first that comes" for group in groups_of(self._database, destination)]
                    collections = collections_of(self._database, destination)
                    found[f"destination:{destination}"] = {
                        "groups": ", ".join(groups),
                        "collections": ", ".join(collections),
                    }
        return {subject: values for subject, values in found.items() if values}

    def _product(self) -> dict[str, str]:
        """FerretDB reports the version of a MongoDB that it resembles, and its own beside it."""
        ferretdb = self._build.get("ferretdb")
        if ferretdb is None:
            return {"product": "MongoDB", "version": str(self._build.get("version"))}
        like = f"MongoDB {self._build.get('version')}"
        return {"product": "FerretDB", "version": str(ferretdb.get("version")), "resembles": like}

    def _postgresql(self) -> dict[str, str]:
        """Nothing where the endpoint does not name it."""
        if self._behind is None or "ferretdb" not in self._build:
            return {}
        names = ", ".join(f"'{name}'" for name in POSTGRESQL)
        question = f"SELECT name, current_setting(name) FROM pg_settings WHERE name IN ({names}) UNION ALL {_VERSIONS}"
        try:
            return dict(self._behind.ask(question))
        except OSError as e:
            raise BrokerError(f"PostgreSQL behind FerretDB: {e}", hint="see the endpoint's option postgresql") from e

    def durability(self, destinations: tuple[str, ...]) -> ComputedDurability:
        with refusals(self._endpoint):
            for destination in destinations:  # a level of what does not exist would be no level
                groups_of(self._database, destination)
        if "ferretdb" in self._build:
            return by_commit(self._postgresql())
        hello = self._ask("hello")
        return by_write_concern(self._concern, len(hello["hosts"]) if "setName" in hello else 1)

    def close(self) -> None:
        with contextlib.suppress(PyMongoError):
            self._client.close()
        if self._behind is not None:
            self._behind.close()
