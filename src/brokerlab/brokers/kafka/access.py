"""A first word with a Kafka cluster: whether it answers us at all, and when not, whose fault it is."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from brokerlab.brokers.kafka.client import admin_properties
from brokerlab.errors import BrokerError
from brokerlab.model.plan import Endpoint
from brokerlab.processes.ports import all_refuse

PATIENCE_S = 15.0
_STEP_S = 1.0
# librdkafka keeps trying after these, forever; for us they are final.
_REFUSALS = {
    "_AUTHENTICATION": "refused user or password",
    "SASL_AUTHENTICATION_FAILED": "refused user or password",
    "_SSL": "and we could not agree on TLS",
}
# A server that wants TLS or a password hangs up on who comes without. librdkafka says so only in its log.
_HUNG_UP = ("closed by peer", "security.protocol")
_HUNG_UP_LEAST = 3  # a server that is just stopping does it once


class Client:
    """An administrative client that tells a refusal from a broker that is merely slow."""

    def __init__(self, endpoint: Endpoint, client_settings: Mapping[str, str]) -> None:
        from confluent_kafka.admin import AdminClient

        self.addresses = ", ".join(endpoint.addresses)
        self._endpoint = endpoint
        self._hung_up = 0
        self._refusal: BrokerError | None = None
        properties: dict[str, Any] = {**admin_properties(endpoint, client_settings), "error_cb": self._note}
        properties |= {"log_level": "6", "logger": self}
        self.admin = AdminClient(properties)

    def _note(self, error: Any) -> None:
        if error.name() in _REFUSALS:
            self._refuse(f"{_REFUSALS[error.name()]}: {error.str()}")

    def log(self, level: int, text: str, *values: object) -> None:  # noqa: ARG002
        """The client's log comes here, and goes no further."""
        said = text % values
        if any(one in said for one in _HUNG_UP):
            self._hung_up += 1
        if self._hung_up == _HUNG_UP_LEAST:
            self._refuse(f"hangs up on us; does it want TLS or a password? {said}")

    def _refuse(self, why: str) -> None:
        self._refusal = BrokerError(
            f"Kafka at {self.addresses} {why}", hint="see the workload's security: tls, ca_file, user, password"
        )

    def metadata(self, patience_s: float = PATIENCE_S) -> Any:
        """The cluster's metadata. Raises BrokerError: at once when we are refused or nothing listens, after `patience_s`
        otherwise."""
        from confluent_kafka import KafkaException

        until = time.monotonic() + patience_s
        step_s = max(_STEP_S, patience_s / 60)  # who waits long expects an answer that is long
        self._hung_up, self._refusal = 0, None
        while True:
            try:
                return self.admin.list_topics(timeout=step_s)
            except KafkaException as e:
                self.admin.poll(0)
                if self._refusal is not None:
                    raise self._refusal from e
                if time.monotonic() >= until or all_refuse(self._endpoint.addresses):
                    raise BrokerError(
                        f"Kafka at {self.addresses} does not answer: {e.args[0].str()}",
                        hint="is it running, and reachable?",
                    ) from e


def check_access(endpoint: Endpoint, client_settings: Mapping[str, str]) -> None:
    """Raises BrokerError within seconds where a driver's client would try a wrong password forever."""
    Client(endpoint, client_settings).metadata()


def leader_of(endpoint: Endpoint, topic: str) -> int:
    """The node that leads the topic's first partition now. Raises BrokerError when there is none."""
    found = Client(endpoint, {}).metadata().topics.get(topic)
    if found is None or 0 not in found.partitions or found.partitions[0].leader < 0:
        raise BrokerError(f"{topic} has no leader now")
    return int(found.partitions[0].leader)
