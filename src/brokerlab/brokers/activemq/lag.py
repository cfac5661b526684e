"""What queues take in and what waits in them, from their management beans. A queue is its one group."""

from __future__ import annotations

from collections.abc import Mapping

from brokerlab.brokers.activemq.metrics import LAG, QUEUE
from brokerlab.brokers.contract import Reading
from brokerlab.brokers.kit.jolokia import Values
from brokerlab.brokers.kit.jolokia_lag import BeansLag, keys_of
from brokerlab.brokers.kit.lag import queue_readings


class ActiveLag(BeansLag):
    """Topics keep nothing, so nothing is behind there: the queues of their subscribers are what is read."""

    rows = LAG

    def _of(self, beans: Mapping[str, Mapping[str, Values]]) -> dict[str, list[Reading]]:
        told = {keys_of(bean)["destinationName"]: values for bean, values in beans[QUEUE].items()}
        return {n: queue_readings(self._name, n, v["QueueSize"], v["EnqueueCount"]) for n, v in told.items()}
