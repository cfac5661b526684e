"""The servers' own figures: FerretDB's page, PostgreSQL's statistics, mongod's status."""

from __future__ import annotations

from collections.abc import Mapping

from pymongo.errors import PyMongoError

from brokerlab.brokers.contract import NodeInfo, Reading
from brokerlab.brokers.kit.database import Database
from brokerlab.brokers.kit.http_reader import read_text
from brokerlab.brokers.kit.probing import NodeByNodeProbe, figures_in, readings_of
from brokerlab.brokers.mongodb.connection import connect
from brokerlab.brokers.mongodb.metrics import BEHIND, FERRETDB, MONGOD
from brokerlab.brokers.mongodb.settings import write_concern
from brokerlab.model.plan import Durability, Endpoint
from brokerlab.model.watched import fields_of


class MongodbProbe(NodeByNodeProbe):
    """See brokers.contract.BrokerProbe."""

    unanswered = (PyMongoError,)

    def __init__(self, endpoint: Endpoint, nodes: tuple[NodeInfo, ...]) -> None:
        super().__init__(endpoint, nodes)
        addresses = {node.urls["postgresql"] for node in nodes if "postgresql" in node.urls}
        self._databases = {address: Database(address, endpoint.security) for address in addresses}

    def _of(self, subject: str, urls: Mapping[str, str]) -> list[Reading]:
        if "metrics" in urls:
            found = figures_in(read_text(urls["metrics"], 1.0), FERRETDB)
            return [Reading.of(row, subject, value) for row, value in found.items()]
        if "postgresql" in urls:
            return self._databases[urls["postgresql"]].readings(subject, BEHIND)
        with connect(self._endpoint, "brokerlab-probe", write_concern(Durability.L4, {})) as client:
            return readings_of(
                subject, client.admin.command("serverStatus")["opcounters"], fields_of(MONGOD, "opcounters")
            )
