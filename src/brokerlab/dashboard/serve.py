"""The server's life: a port on loopback, the line with its address, and an end that waits for no tab."""

from __future__ import annotations

import logging
import secrets
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import uvicorn

from brokerlab.dashboard.app import Dashboard, make_app
from brokerlab.dashboard.safety import loopback_hosts
from brokerlab.errors import UserError
from brokerlab.evidence.background import give_way

HOST = "127.0.0.1"
END_WITHIN_S = 1
SWITCH_S = 0.0005  # while one thread reads a long history, another sends the files of the page: each waits for its turn many times


class _Server(uvicorn.Server):
    """Ends its streams with the signal that ends it."""

    def __init__(self, config: uvicorn.Config, dashboard: Dashboard) -> None:
        super().__init__(config)
        self._dashboard = dashboard

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._dashboard.ending.set()
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)  # streams that are cut off now are no errors
        super().handle_exit(sig, frame)


def serve(runs: Path, port: int, said: Callable[[str], None], token: str | None = None) -> None:
    """Serve until a signal ends it. Port 0 takes a free one. `said` is called with the address, token included, once the server
    can be asked. The process gives way to agents and brokers that are being measured."""
    listening = _listening(port)
    port = listening.getsockname()[1]
    given = token or secrets.token_urlsafe(18)
    dashboard = Dashboard(runs, given, loopback_hosts(port))
    give_way()
    sys.setswitchinterval(SWITCH_S)
    config = uvicorn.Config(
        make_app(dashboard), log_level="warning", access_log=False, lifespan="off", server_header=False,
        timeout_graceful_shutdown=END_WITHIN_S, ws="none",
    )  # fmt: skip
    said(f"http://{HOST}:{port}/#token={given}")
    _Server(config, dashboard).run(sockets=[listening])


def _listening(port: int) -> socket.socket:
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((HOST, port))
        found.listen(128)
    except OSError as e:
        found.close()
        raise UserError(f"port {port} of {HOST} cannot be used: {e.strerror}", hint="--port 0 takes a free one") from e
    return found
