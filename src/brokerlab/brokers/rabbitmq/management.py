"""The management HTTP API: what a queue is made of. Never how many messages it holds: those figures are sampled."""

from __future__ import annotations

import base64
import json
import ssl
import urllib.error
import urllib.parse
import urllib.request
from typing import Any

from brokerlab.brokers.rabbitmq.wire import credentials, tls_context
from brokerlab.model.plan import Endpoint


class Management:
    """Asks the nodes in turn until one answers."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._urls = [u for u in endpoint.options.get("management", "").split(",") if u]
        user, password = credentials(endpoint.security)
        self._authorization = "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()
        secured = endpoint.security is not None and endpoint.security.tls
        self._context: ssl.SSLContext | None = tls_context(endpoint.security) if secured else None

    @property
    def known(self) -> bool:
        """Whether there is an address to ask."""
        return bool(self._urls)

    def get(self, *path: str, seconds: float = 10.0) -> Any:
        """The answer of the first node that gives one, None where it says there is no such thing. Raises OSError."""
        last: OSError = OSError("no management address is known")
        for url in self._urls:
            try:
                return self.get_from(url, *path, seconds=seconds)
            except OSError as e:
                last = e
        raise last

    def get_from(self, url: str, *path: str, seconds: float = 10.0) -> Any:
        where = "/".join(urllib.parse.quote(part, safe="") for part in ("api", *path))
        request = urllib.request.Request(f"{url}/{where}", headers={"Authorization": self._authorization})
        try:
            with urllib.request.urlopen(request, timeout=seconds, context=self._context) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as e:
            with e:
                if e.code == 404:
                    return None
                raise OSError(f"{url}/{where}: {e.code} {e.reason}") from e
        except ValueError as e:
            raise OSError(f"{url}/{where}: unreadable answer") from e

    def queue(self, name: str) -> dict[str, Any] | None:
        found: dict[str, Any] | None = self.get("queues", "/", name)
        return found

    @property
    def urls(self) -> list[str]:
        return self._urls
