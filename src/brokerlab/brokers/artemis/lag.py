"""What addresses take in and what waits in their queues, from the management beans. An address is a destination, each of its
queues a group."""

from __future__ import annotations

from collections.abc import Mapping

from brokerlab.brokers.artemis.metrics import ADDRESS, LAG, QUEUE
from brokerlab.brokers.contract import Reading
from brokerlab.brokers.kit.jolokia import Values
from brokerlab.brokers.kit.jolokia_lag import BeansLag, keys_of
from brokerlab.brokers.kit.lag import destination_readings, lag_reading

_OWN = ("activemq.", "$")  # addresses of Artemis itself: notifications, management, those between its nodes


class ArtemisLag(BeansLag):
    rows = LAG

    def _of(self, beans: Mapping[str, Mapping[str, Values]]) -> dict[str, list[Reading]]:
        found: dict[str, list[Reading]] = {}
        for bean, values in beans[ADDRESS].items():
            address = keys_of(bean)["address"]
            if not address.startswith(_OWN):
                found[address] = destination_readings(self._name, address, taken_in=values["RoutedMessageCount"])
        for bean, values in beans[QUEUE].items():
            keys = keys_of(bean)
            if keys["address"] in found:
                lag = lag_reading(self._name, keys["queue"], keys["address"], values["MessageCount"])
                found[keys["address"]].append(lag)
        return found
