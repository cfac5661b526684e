"""What streams take in and how far their consumers are behind, from the page /jsz of NATS's monitoring."""

from __future__ import annotations

from typing import Any

from brokerlab.brokers.contract import NodeInfo, Reading
from brokerlab.brokers.kit.http_reader import read_json
from brokerlab.brokers.kit.lag import destination_readings, lag_reading
from brokerlab.brokers.kit.wire import option_list
from brokerlab.model.plan import Endpoint

_PAGE = "jsz?streams=true&consumers=true"


class NatsLag:
    """See brokers.contract.WatchedByEndpoint. A stream is one partition. Without the address of the monitoring nothing is
    known; one server tells of the streams it has, so of each stream the largest figures count."""

    def __init__(self, endpoint: Endpoint, nodes: tuple[NodeInfo, ...], name: str) -> None:  # noqa: ARG002 - the endpoint says where
        self._name = name
        self._urls = option_list(endpoint, "monitoring")

    def read(self) -> list[Reading]:
        found: dict[tuple[str, str], Reading] = {}
        for url in self._urls:
            try:
                page = read_json(f"{url}/{_PAGE}", 1.0)
            except OSError:
                continue
            for account in page.get("account_details") or ():
                for stream in account.get("stream_detail") or ():
                    for reading in self._of(stream):
                        key = reading.subject, reading.metric
                        found[key] = max(found.get(key, reading), reading, key=lambda r: r.value)
        return list(found.values())

    def _of(self, stream: dict[str, Any]) -> list[Reading]:
        name, state = stream["name"], stream.get("state", {})
        readings = destination_readings(
            self._name, name, taken_in=state.get("last_seq", 0), held=state.get("messages", 0)
        )
        for consumer in stream.get("consumer_detail") or ():
            behind = consumer.get("num_pending", 0) + consumer.get("num_ack_pending", 0)
            readings.append(lag_reading(self._name, consumer["name"], name, behind))
        return readings
