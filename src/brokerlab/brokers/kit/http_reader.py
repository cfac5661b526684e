"""Servers' own HTTP pages: JSON or text, with TLS and a login where they want one. Never through a proxy: http.client
knows none, so that loopback stays loopback."""

from __future__ import annotations

import base64
import http.client
import json
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

# What reading a page raises that is JSON and not the page that was asked for.
MISREAD = (LookupError, TypeError, AttributeError, ValueError, ArithmeticError)


@dataclass(frozen=True)
class Answer:
    status: int
    text: str
    location: str | None  # where it redirects to


def ask(
    url: str,
    *,
    method: str = "GET",
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
    seconds: float = 5.0,
    context: ssl.SSLContext | None = None,
) -> Answer:
    """One request. Raises OSError where no answer comes; an answer that says no is an answer."""
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port
    connection: http.client.HTTPConnection
    if parts.scheme == "https":
        connection = http.client.HTTPSConnection(host, port, timeout=seconds, context=context)
    else:
        connection = http.client.HTTPConnection(host, port, timeout=seconds)
    try:
        target = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
        connection.request(method, target, body, dict(headers or {"Accept": "*/*"}))
        answer = connection.getresponse()
        return Answer(answer.status, answer.read().decode(errors="replace"), answer.getheader("Location"))
    except http.client.HTTPException as e:
        raise OSError(f"{url}: {e!r}") from e
    finally:
        connection.close()


def read_text(
    url: str, seconds: float, context: ssl.SSLContext | None = None, headers: Mapping[str, str] | None = None
) -> str:
    """A whole page. Raises OSError."""
    answer = ask(url, headers=headers, seconds=seconds, context=context)
    if answer.status != 200:
        raise OSError(f"{url} answered {answer.status}")
    return answer.text


def read_json(
    url: str, seconds: float = 5.0, context: ssl.SSLContext | None = None, headers: Mapping[str, str] | None = None
) -> Any:
    """A page of JSON. Raises OSError."""
    try:
        return json.loads(read_text(url, seconds, context, headers))
    except (ValueError, RecursionError) as e:
        raise OSError(f"{url}: unreadable answer") from e


def basic_login(user: str, password: str) -> dict[str, str]:
    """The header of HTTP's basic authentication."""
    return {"Authorization": f"Basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}"}


def as_text(value: object) -> str:
    """A value of JSON as a setting is shown: strings as they are."""
    return value if isinstance(value, str) else json.dumps(value)
