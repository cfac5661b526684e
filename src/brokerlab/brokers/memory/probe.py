"""The server's own figures."""

from __future__ import annotations

from collections.abc import Mapping

from brokerlab.brokers.contract import Reading
from brokerlab.brokers.kit.probing import NodeByNodeProbe, readings_of
from brokerlab.brokers.memory.connection import ask
from brokerlab.brokers.memory.metrics import METRICS
from brokerlab.model.plan import Endpoint
from brokerlab.model.watched import fields_of


class MemoryProbe(NodeByNodeProbe):
    """See brokers.contract.BrokerProbe. Figures need no login."""

    def _of(self, subject: str, urls: Mapping[str, str]) -> list[Reading]:
        answer = ask(Endpoint(addresses=(urls["control"],)), {"do": "statistics"})
        return readings_of(subject, answer, fields_of(METRICS))
