"""What Redpanda's Admin API tells, over HTTP: GET /v1/brokers, /v1/cluster_config, /v1/node_config, /public_metrics."""

from __future__ import annotations

import json
from typing import Any

from brokerlab.brokers.kit.http_reader import ask, basic_login
from brokerlab.brokers.kit.wire import credentials, option_list, tls_context
from brokerlab.errors import BrokerError
from brokerlab.model.plan import Endpoint

_SECONDS = 5.0


class AdminApi:
    """Of the cluster that has this endpoint; it knows no addresses where the endpoint names none."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.addresses = [address.rstrip("/") for address in option_list(endpoint, "admin")]
        security = endpoint.security
        self._login = {} if security is None or security.user is None else basic_login(*credentials(security))
        self._security = security

    def page(self, address: str, path: str, seconds: float = _SECONDS) -> str:
        """Raises OSError."""
        context = tls_context(self._security) if address.startswith("https:") else None
        answer = ask(f"{address}{path}", headers={"Accept": "*/*", **self._login}, seconds=seconds, context=context)
        if answer.status != 200:
            raise OSError(f"{address}{path} answered {answer.status}")
        return answer.text

    def cluster_settings(self) -> dict[str, Any]:
        """Of the first node that answers; nothing where no address is known."""
        found: dict[str, Any] = self._first("/v1/cluster_config")
        return found

    def brokers(self) -> list[dict[str, Any]]:
        """The members of the cluster."""
        found: list[dict[str, Any]] = self._first("/v1/brokers") if self.addresses else []
        return found

    def developer_mode(self) -> bool | None:
        """Whether any node is in developer mode; None where no address is known."""
        told = [self._json(address, "/v1/node_config").get("developer_mode") for address in self.addresses]
        return any(told) if told else None

    def _first(self, path: str) -> Any:
        failed = None
        for address in self.addresses:
            try:
                return self._json(address, path)
            except BrokerError as e:
                failed = e
        if failed is not None:
            raise failed
        return {}

    def _json(self, address: str, path: str) -> Any:
        try:
            return json.loads(self.page(address, path))
        except (OSError, ValueError) as e:
            hint = "is this the address of the Admin API, and do user and password hold there too?"
            raise BrokerError(f"Redpanda's Admin API cannot be read: {e}", hint=hint) from e
