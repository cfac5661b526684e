"""What the HTTP API tells: GET /info, /info/options, /stats."""

from __future__ import annotations

import contextlib
from typing import Any

from brokerlab.brokers.contract import NodeInfo, Reading
from brokerlab.brokers.eventstore.metrics import METRICS
from brokerlab.brokers.kit.http_reader import as_text, basic_login, read_json
from brokerlab.brokers.kit.probing import readings_of
from brokerlab.brokers.kit.wire import credentials, tls_context
from brokerlab.errors import BrokerError
from brokerlab.model.plan import Endpoint
from brokerlab.model.watched import fields_of


class HttpApi:
    """Of the nodes at these addresses."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._security = endpoint.security
        scheme = "https" if self._security is not None and self._security.tls else "http"
        own = endpoint.options.get("http")
        self.urls = [own.rstrip("/")] if own else [f"{scheme}://{address}" for address in endpoint.addresses]

    def read(self, url: str, path: str, seconds: float = 5.0) -> Any:
        """Raises OSError."""
        security = self._security
        login = {} if security is None or security.user is None else basic_login(*credentials(security))
        context = tls_context(security) if url.startswith("https:") else None
        return read_json(f"{url}{path}", seconds, context, {"Accept": "application/json", **login})

    def info(self) -> dict[str, str]:
        """Version and state of the first node."""
        return {name: as_text(value) for name, value in self._of_first("/info").items()}

    def options(self) -> dict[str, str]:
        """Of the first node, by name."""
        return {str(one["name"]): as_text(one.get("value")) for one in self._of_first("/info/options")}

    def _of_first(self, path: str) -> Any:
        try:
            return self.read(self.urls[0], path)
        except OSError as e:
            hint = "give --endpoint eventstore.http=...; only members of $ops or $admins may read the server's options"
            raise BrokerError(f"KurrentDB's HTTP API cannot be read: {e}", hint=hint) from e


class EventstoreProbe:
    """See brokers.contract.BrokerProbe. Nodes are known by their addresses: none is started here."""

    def __init__(self, endpoint: Endpoint, nodes: tuple[NodeInfo, ...]) -> None:  # noqa: ARG002
        self._api = HttpApi(endpoint)

    def read(self) -> list[Reading]:
        readings: list[Reading] = []
        for url in self._api.urls:
            with contextlib.suppress(OSError):
                told = self._api.read(url, "/stats", 1.0)
                values = {path: value for path in fields_of(METRICS) if (value := _at(told, path)) is not None}
                readings += readings_of(f"broker:{url.rpartition('/')[2]}", values, fields_of(METRICS))
        return readings


def _at(told: Any, path: str) -> object:
    for name in path.split("."):
        told = told.get(name) if isinstance(told, dict) else None
    return told
