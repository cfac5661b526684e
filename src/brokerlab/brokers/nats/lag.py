"""What streams take in and how far their consumers are behind, from the page /jsz of NATS's monitoring."""

from __future__ import annotations

from typing import Any

from brokerlab.brokers.contract import Reading
from brokerlab.brokers.kit.http_reader import read_json
from brokerlab.brokers.kit.wire import option_list
from brokerlab.model.plan import Endpoint
from brokerlab.model.subjects import destination_subject, group_subject
from brokerlab.model.watched_here import DESTINATION, GROUP

_PAGE = "jsz?streams=true&consumers=true"


class NatsLag:
    """See brokers.contract.WatchedByEndpoint. A stream is one partition. Without the address of the monitoring nothing is
    known; one server tells of the streams it has, so of each stream the largest figures count."""

    def __init__(self, endpoint: Endpoint, name: str) -> None:
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
        subject = destination_subject(self._name, stream["name"])
        state = stream.get("state", {})
        readings = [
            Reading.of(DESTINATION["messages_in_total"], subject, state.get("last_seq", 0)),
            Reading.of(DESTINATION["messages"], subject, state.get("messages", 0)),
        ]
        for consumer in stream.get("consumer_detail") or ():
            behind = consumer.get("num_pending", 0) + consumer.get("num_ack_pending", 0)
            of_group = group_subject(self._name, consumer["name"], stream["name"], 0)
            readings.append(Reading.of(GROUP["lag_messages"], of_group, behind))
        return readings
