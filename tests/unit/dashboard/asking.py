"""Requests to an application without a server: each is answered whole before the call returns."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import httpx


class Client:
    """httpx over ASGI, for tests that do not wait for anything."""

    def __init__(self, app: Any, base_url: str, headers: dict[str, str] | None = None) -> None:
        self._app = app
        self._base_url = base_url
        self._headers = headers or {}

    def get(self, path: str, **options: Any) -> httpx.Response:
        return self.request("GET", path, **options)

    def post(self, path: str, **options: Any) -> httpx.Response:
        return self.request("POST", path, **options)

    def request(self, method: str, path: str, **options: Any) -> httpx.Response:
        return asyncio.run(self._asked(method, path, options))

    async def _asked(self, method: str, path: str, options: dict[str, Any]) -> httpx.Response:
        transport = httpx.ASGITransport(self._app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url=self._base_url, headers=self._headers) as client:
            return await client.request(method, path, **options)


def streamed(app: Any, path: str, host: str, taken: Callable[[bytes], None]) -> bytes:
    """All that a stream sends until it ends; `taken` sees each part as it is sent, and may end it."""
    sent: list[bytes] = []

    async def send(message: dict[str, Any]) -> None:
        sent.append(message.get("body", b""))
        taken(sent[-1])

    async def receive() -> dict[str, Any]:
        await asyncio.Event().wait()
        return {"type": "http.disconnect"}

    scope = {"type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET", "scheme": "http", "path": path,
             "root_path": "", "query_string": b"", "headers": [(b"host", host.encode())], "client": None, "server": None}  # fmt: skip
    asyncio.run(app(scope, receive, send))
    return b"".join(sent)
