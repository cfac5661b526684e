"""The servers' own figures: FerretDB's page, PostgreSQL's statistics, mongod's status."""

from __future__ import annotations

import contextlib

from pymongo.errors import PyMongoError

from brokerlab.brokers.contract import NodeInfo, Reading
from brokerlab.brokers.kit.database import Database
from brokerlab.brokers.kit.http_reader import read_text
from brokerlab.brokers.kit.probing import figures_in, readings_of
from brokerlab.brokers.mongodb.connection import connect
from brokerlab.brokers.mongodb.metrics import BEHIND, FERRETDB, MONGOD
from brokerlab.brokers.mongodb.settings import client_settings
from brokerlab.model.plan import Durability, Endpoint
from brokerlab.model.watched import fields_of


class MongodbProbe:
    """See brokers.contract.BrokerProbe."""

    def __init__(self, endpoint: Endpoint, nodes: tuple[NodeInfo, ...]) -> None:
        self._endpoint, self._nodes = endpoint, nodes
        addresses = {node.urls["postgresql"] for node in nodes if "postgresql" in node.urls}
        self._databases = {address: Database(address, endpoint.security) for address in addresses}

    def read(self) -> list[Reading]:
        readings: list[Reading] = []
        for node in self._nodes:
            with contextlib.suppress(OSError, PyMongoError):
                readings += self._of(f"broker:{node.name}", node.urls)
        return readings

    def _of(self, subject: str, urls: dict[str, str]) -> list[Reading]:
        if "metrics" in urls:
            found = figures_in(read_text(urls["metrics"], 1.0), FERRETDB)
            return [Reading.of(row, subject, value) for row, value in found.items()]
        if "postgresql" in urls:
            return self._databases[urls["postgresql"]].readings(subject, BEHIND)
        with connect(self._endpoint, "brokerlab-probe", client_settings(Durability.L4, {})) as client:
            return readings_of(
                subject, client.admin.command("serverStatus")["opcounters"], fields_of(MONGOD, "opcounters")
            )
