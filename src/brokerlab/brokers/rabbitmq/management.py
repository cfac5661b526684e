"""The management HTTP API: what a queue is made of. Never how many messages it holds: those figures are sampled."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

from brokerlab.brokers.kit.http_reader import ask, basic_login
from brokerlab.brokers.kit.wire import credentials, option_list, tls_context
from brokerlab.brokers.rabbitmq.names import GUEST
from brokerlab.model.plan import Endpoint


class Management:
    """Asks the nodes in turn until one answers."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.urls = option_list(endpoint, "management")
        self._login = basic_login(*credentials(endpoint.security, GUEST))
        secured = endpoint.security is not None and endpoint.security.tls
        self._context = tls_context(endpoint.security) if secured else None

    @property
    def known(self) -> bool:
        """Whether there is an address to ask."""
        return bool(self.urls)

    def get(self, *path: str) -> Any:
        """The answer of the first node that gives one, None where it says there is no such thing. Raises OSError."""
        last: OSError = OSError("no management address is known")
        for url in self.urls:
            try:
                return self.get_from(url, *path)
            except OSError as e:
                last = e
        raise last

    def get_from(self, url: str, *path: str, seconds: float = 10.0) -> Any:
        where = f"{url}/" + "/".join(quote(part, safe="") for part in ("api", *path))
        answer = ask(where, headers=self._login, seconds=seconds, context=self._context)
        if answer.status == 404:
            return None
        if answer.status != 200:
            raise OSError(f"{where}: {answer.status}")
        try:
            return json.loads(answer.text)
        except ValueError as e:
            raise OSError(f"{where}: unreadable answer") from e
