"""AWS's JSON protocol 1.0 over HTTP: requests as bytes, signed or not; what answers and refusals say."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from brokerlab.brokers.kit.aws_signing import Signer, find_credentials
from brokerlab.brokers.kit.http_link import HttpAnswer, HttpLink, UnreadableAnswerError, http_request
from brokerlab.brokers.kit.link import RefusedError
from brokerlab.model.plan import Endpoint, Security

_TLS_PORT = ":443"


def with_tls(endpoint: Endpoint) -> Endpoint:
    """An address with HTTPS's port is spoken to by HTTPS."""
    if not endpoint.addresses[0].endswith(_TLS_PORT):
        return endpoint
    return endpoint.model_copy(update={"security": Security(tls=True)})


class Requests:
    """Makes the requests to one endpoint: signed where it names a region. Raises UserError where no key is found."""

    def __init__(self, endpoint: Endpoint, target: str, service: str) -> None:
        """`target` is what the service is called before the names of actions, `service` in signatures."""
        region = endpoint.options.get("region")
        self._signer = None if region is None else Signer(find_credentials(), region, service)
        self._host = endpoint.addresses[0].removesuffix(_TLS_PORT)
        self._target = target

    def of(self, action: str, body: bytes) -> bytes:
        headers = {
            "content-type": "application/x-amz-json-1.0",
            "host": self._host,
            "x-amz-target": f"{self._target}.{action}",
        }
        if self._signer is not None:
            headers = self._signer.signed("POST", "/", headers, body)
        return http_request("POST", "/", headers, body)

    def of_values(self, action: str, **values: object) -> bytes:
        return self.of(action, json.dumps(values).encode())

    def call(self, link: HttpLink, action: str, **values: object) -> dict[str, Any]:
        """Ask, and wait. Raises RefusedError, whose text begins with the kind of the error, or another OSError."""
        answer = link.call(self.of_values(action, **values))
        if answer.status != 200:
            raise RefusedError(refusal(answer), answer.status)
        return content(answer)


def content(answer: HttpAnswer) -> dict[str, Any]:
    """The JSON object in an answer. Raises UnreadableAnswerError."""
    try:
        found = json.loads(answer.body or b"{}")
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise UnreadableAnswerError("unreadable answer: no JSON object")
    return found


def refusal(answer: HttpAnswer) -> str:
    """The kind of an error, in one word, and what was said about it."""
    try:
        said = content(answer)
    except UnreadableAnswerError:
        said = {}
    kind = text_in(said, "__type").rpartition("#")[2].rpartition(".")[2] or f"HTTP {answer.status}"
    text = text_in(said, "message") or text_in(said, "Message")
    return f"{kind}: {text}" if text else kind


def text_in(said: Mapping[str, object], name: str) -> str:
    """Text that can be written down, whatever JSON's escapes made of it; empty where there is none."""
    found = said.get(name)
    return found.encode(errors="replace").decode() if isinstance(found, str) else ""
