"""Pulsar's administrative HTTP interface: JSON in and out, redirects to the broker that owns the topic followed."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote, urlsplit

from brokerlab.brokers.kit.http_reader import ask, basic_login
from brokerlab.brokers.kit.wire import credentials, option_list, tls_context
from brokerlab.errors import BrokerError
from brokerlab.model.plan import Endpoint

ANSWER_S = 60.0  # and more for what touches many partitions
_REDIRECTS = 5


class RestError(BrokerError):
    """The broker answered, and it was no."""

    def __init__(self, status: int, message: str) -> None:
        hint = "check the user and the password" if status in (401, 403) else None
        super().__init__(message, hint=hint)
        self.status = status


def topic_path(namespace: str, topic: str) -> str:
    return f"/admin/v2/persistent/{namespace}/{quote(topic, safe='')}"


class Rest:
    """Requests to the first web address that answers. `endpoint.options["web"]` lists them; without it they
    are taken to be at Pulsar's usual port on the brokers' hosts."""

    def __init__(self, endpoint: Endpoint, seconds: float = ANSWER_S) -> None:
        self._addresses = option_list(endpoint, "web")
        security = endpoint.security
        if not self._addresses:
            usual = ("https", 8443) if security is not None and security.tls else ("http", 8080)
            self._addresses = [f"{usual[0]}://{a.rpartition(':')[0]}:{usual[1]}" for a in endpoint.addresses]
        self._seconds = seconds
        secured = any(a.startswith("https:") for a in self._addresses)
        self._context = tls_context(security) if secured else None
        self._headers = {"Accept": "application/json", "Content-Type": "application/json"}
        user, password = credentials(security)
        if user:
            self._headers |= basic_login(user, password) | {"X-Pulsar-Auth-Method-Name": "basic"}

    def get(self, path: str) -> Any:
        return self.request("GET", path)

    def request(self, method: str, path: str, body: object = None) -> Any:
        """The answer's JSON, None for an empty one. Raises RestError for a refusal, BrokerError if no address answers."""
        data = None if body is None else json.dumps(body).encode()
        last: Exception | None = None
        for address in self._addresses:
            try:
                return self._follow(method, f"{address}{path}", data)
            except OSError as e:
                last = e
        raise BrokerError(
            f"Pulsar's administrative interface does not answer at {', '.join(self._addresses)}: {last}",
            hint="check the address, and http or https; --endpoint pulsar.web=http://HOST:PORT names another",
        ) from last

    def _follow(self, method: str, url: str, data: bytes | None) -> Any:
        for _ in range(_REDIRECTS):
            answer = ask(
                url, method=method, body=data, headers=self._headers, seconds=self._seconds, context=self._context
            )
            if answer.status in (301, 302, 307, 308) and answer.location:
                if urlsplit(answer.location).scheme != urlsplit(url).scheme:  # never show a password in the clear
                    raise BrokerError(f"{url} was redirected to {answer.location}")
                url = answer.location
                continue
            if answer.status >= 300:
                raise RestError(answer.status, f"{method} {url}: {answer.status} {_reason(answer.text)}")
            return _json_or_text(answer.text)
        raise BrokerError(f"{url}: redirected too often")


def _json_or_text(answer: str) -> Any:
    if not answer:
        return None
    try:
        return json.loads(answer)
    except ValueError:
        return answer


def _reason(answer: str) -> str:
    """Pulsar's own words, without the page around them."""
    told = _json_or_text(answer)
    return str(told["reason"]) if isinstance(told, dict) and "reason" in told else answer[:200]
