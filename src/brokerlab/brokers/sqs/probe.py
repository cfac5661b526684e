"""ElasticMQ's own figures: its statistics page, and its JVM."""

from __future__ import annotations

import contextlib

from brokerlab.brokers.contract import NodeInfo, Reading
from brokerlab.brokers.kit.http_reader import read_json
from brokerlab.brokers.kit.jolokia import JolokiaProbe
from brokerlab.brokers.kit.probing import readings_of
from brokerlab.brokers.sqs.metrics import COUNT, QUEUES
from brokerlab.model.plan import Endpoint
from brokerlab.model.watched import fields_of
from brokerlab.model.watched_here import JVM


class SqsProbe:
    """See brokers.contract.BrokerProbe. A service that is not started here has no nodes, and so no figures."""

    def __init__(self, endpoint: Endpoint, nodes: tuple[NodeInfo, ...]) -> None:
        self._nodes = nodes
        self._jvm = JolokiaProbe(endpoint.security, nodes, tuple(JVM.values()))

    def read(self) -> list[Reading]:
        readings = self._jvm.read()
        for node in self._nodes:
            with contextlib.suppress(OSError, KeyError, TypeError, ValueError):
                queues = [queue["statistics"] for queue in read_json(node.urls["statistics"], 1.0)]
                totals = {name: sum(int(queue[name]) for queue in queues) for name in fields_of(QUEUES)}
                readings += readings_of(f"broker:{node.name}", totals, fields_of(QUEUES))
                readings.append(Reading.of(COUNT, f"broker:{node.name}", len(queues)))
        return readings
