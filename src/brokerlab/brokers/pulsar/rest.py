"""Pulsar's administrative HTTP interface: JSON in and out, redirects to the broker that owns the topic followed."""

from __future__ import annotations

import base64
import http.client
import json
import ssl
from typing import Any
from urllib.parse import quote, urlsplit

from brokerlab.errors import BrokerError
from brokerlab.model.plan import Endpoint, Security
from brokerlab.secrets import secret

_REDIRECTS = 5


class RestError(BrokerError):
    """The broker answered, and it was no."""

    def __init__(self, status: int, message: str) -> None:
        hint = "check the user and the password" if status in (401, 403) else None
        super().__init__(message, hint=hint)
        self.status = status


def get_text(url: str, seconds: float, context: ssl.SSLContext | None = None) -> str:
    """A page of figures. Raises OSError."""
    try:
        status, answer, _ = _ask(url, "GET", None, {"Accept": "*/*"}, seconds, context)
    except http.client.HTTPException as e:
        raise OSError(f"{url}: {e!r}") from e
    if status != 200:
        raise OSError(f"{url} answered {status}")
    return answer


def topic_path(namespace: str, topic: str) -> str:
    return f"/admin/v2/persistent/{namespace}/{quote(topic, safe='')}"


class Rest:
    """Requests to the first web address that answers. `endpoint.options["web"]` lists them; where nobody gave any they
    are taken to be at Pulsar's usual port on the brokers' hosts."""

    def __init__(self, endpoint: Endpoint, seconds: float = 60.0) -> None:
        self._addresses = [a for a in endpoint.options.get("web", "").split(",") if a]
        security = endpoint.security
        if not self._addresses:
            usual = ("https", 8443) if security is not None and security.tls else ("http", 8080)
            self._addresses = [f"{usual[0]}://{a.rpartition(':')[0]}:{usual[1]}" for a in endpoint.addresses]
        self._seconds = seconds
        secured = any(a.startswith("https:") for a in self._addresses)
        self._context = tls_context(security.ca_file if security else None) if secured else None
        self._headers = {"Accept": "application/json", "Content-Type": "application/json", **_login(security)}

    def get(self, path: str) -> Any:
        return self.request("GET", path)

    def request(self, method: str, path: str, body: object = None) -> Any:
        """The answer's JSON, None for an empty one. Raises RestError for a refusal, BrokerError if nobody answers."""
        data = None if body is None else json.dumps(body).encode()
        last: Exception | None = None
        for address in self._addresses:
            try:
                return self._follow(method, f"{address}{path}", data)
            except (OSError, http.client.HTTPException) as e:
                last = e
        raise BrokerError(
            f"Pulsar's administrative interface does not answer at {', '.join(self._addresses)}: {last}",
            hint="check the address, and http or https; --endpoint pulsar.web=http://HOST:PORT names another",
        ) from last

    def _follow(self, method: str, url: str, data: bytes | None) -> Any:
        for _ in range(_REDIRECTS):
            status, answer, location = _ask(url, method, data, self._headers, self._seconds, self._context)
            if status in (301, 302, 307, 308) and location:
                if urlsplit(location).scheme != urlsplit(url).scheme:  # never show a password in the clear
                    raise BrokerError(f"{url} was redirected to {location}")
                url = location
                continue
            if status >= 300:
                raise RestError(status, f"{method} {url}: {status} {_reason(answer)}")
            return _json_or_text(answer)
        raise BrokerError(f"{url}: redirected too often")


def _login(security: Security | None) -> dict[str, str]:
    if security is None or security.user is None or security.password is None:
        return {}
    pair = f"{security.user}:{secret(security.password)}".encode()
    return {"Authorization": f"Basic {base64.b64encode(pair).decode()}", "X-Pulsar-Auth-Method-Name": "basic"}


def tls_context(ca_file: str | None) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=ca_file)


def _ask(
    url: str, method: str, data: bytes | None, headers: dict[str, str], seconds: float, context: ssl.SSLContext | None
) -> tuple[int, str, str | None]:
    """Status, text, where it redirects to. http.client knows no proxies: loopback stays loopback."""
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port
    connection: http.client.HTTPConnection
    if parts.scheme == "https":
        connection = http.client.HTTPSConnection(host, port, timeout=seconds, context=context)
    else:
        connection = http.client.HTTPConnection(host, port, timeout=seconds)
    try:
        target = f"{parts.path}?{parts.query}" if parts.query else parts.path
        connection.request(method, target, data, headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode(errors="replace"), answer.getheader("Location")
    finally:
        connection.close()


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
