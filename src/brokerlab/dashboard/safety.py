"""What keeps the server to those it is for: loopback names only, our own pages only, a token for whatever changes something,
and a policy that lets no foreign or inline script run."""

from __future__ import annotations

import hmac
import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from brokerlab.home import cache_directory
from brokerlab.secrets import redacted

TOKEN_HEADER = "x-brokerlab-token"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}
READING = ("GET", "HEAD")
# The folders of an absolute path in a sentence: not those of an address, nor of a path below a name.
_FOLDERS = re.compile(r"(?<![\w/.:~%+-])/(?:[^\s/:;,\"'<>()\[\]\\]+/)+")

Scope = dict[str, Any]
Receive = Callable[[], Any]
Send = Callable[[dict[str, Any]], Any]


def loopback_hosts(port: int) -> frozenset[str]:
    """What a browser on this machine may call us; a name that an attacker's DNS points here is none of them."""
    return frozenset(f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]"))


class Guard:
    """Refuses requests before any of our code sees them, and adds the headers to every answer. Plain ASGI: answers are
    passed on as they come, so streams are neither buffered nor waited for."""

    def __init__(self, app: Any, hosts: Iterable[str], token: str) -> None:
        self.app = app
        self._hosts = frozenset(hosts)
        self._token = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":  # no WebSocket is offered
            return
        answer = with_headers(send)
        refused = self._refusal(scope)
        if refused is None:
            await self.app(scope, receive, answer)
        else:
            await refuse(answer, *refused)

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        given: dict[str, list[str]] = {}
        for name, value in scope["headers"]:
            given.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
        hosts = given.get("host", [])
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return 421, "this server answers to its loopback address only"
        for origin in given.get("origin", []):
            if origin.removeprefix("http://").lower() not in self._hosts:
                return 403, "the request came from a page of another site"
        if scope["method"] in READING:
            # A link on a page of another site may lead here; its scripts, pictures and frames may not ask.
            foreign = given.get("sec-fetch-site", ["same-origin"]) not in (["same-origin"], ["none"])
            if foreign and given.get("sec-fetch-mode") != ["navigate"]:
                return 403, "the request came from a page of another site"
            return None
        if given.get("sec-fetch-site", ["same-origin"]) != ["same-origin"]:
            return 403, "the request came from a page of another site"
        tokens = given.get(TOKEN_HEADER, [])
        if len(tokens) != 1 or not hmac.compare_digest(tokens[0].encode("latin-1"), self._token):
            return 401, "this needs the token that `brokerlab serve` printed when it started"
        return None


def with_headers(send: Send) -> Send:
    async def answer(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            own = {name for name, _ in message.get("headers", [])}
            more = [(n.encode(), v.encode()) for n, v in HEADERS.items() if n.encode() not in own]
            message = {**message, "headers": [*message.get("headers", []), *more]}
        await send(message)

    return answer


async def refuse(send: Send, status: int, text: str) -> None:
    body = json.dumps({"error": text}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


class Outward:
    """Text as it may leave the server: without secrets, and with names for the runs, the cache and the home of this user."""

    def __init__(self, runs: Path) -> None:
        places = {
            str(runs): "runs",
            str(runs.resolve()): "runs",
            str(cache_directory()): "cache",
            str(Path.home()): "~",
        }
        if str(Path.home()) == "/":
            places.pop("/")
        self._places = sorted(places.items(), key=lambda item: -len(item[0]))

    def __call__(self, text: str, file: str = "") -> str:
        """`file` is one that the text may name; of its path only the last part leaves."""
        text = redacted(text)
        if "/" in file:
            text = text.replace(file, Path(file).name)
        for path, name in self._places:
            text = text.replace(path, name)
        return text

    def message(self, text: str) -> str:
        """Of plain text, such as errors and what commands print: of any other absolute path only the last part leaves."""
        return _FOLDERS.sub("…/", self(text))

    def everything(self, value: Any) -> Any:
        """The same value, with every text in it as a message may leave."""
        if isinstance(value, str):
            return self.message(value)
        if isinstance(value, dict):
            return {key: self.everything(v) for key, v in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.everything(v) for v in value]
        return value

    def detail(self, text: str) -> str:
        """Of an event: JSON, whose texts may have lines of a log in them."""
        try:
            return json.dumps(self.everything(json.loads(text)), ensure_ascii=False)
        except ValueError:
            return self.message(text)
