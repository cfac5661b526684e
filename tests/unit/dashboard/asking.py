"""Requests to an application without a server: each is answered whole before the call returns."""

from __future__ import annotations

import asyncio
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
