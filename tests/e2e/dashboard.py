"""`brokerlab serve` as a process, and tabs that look at it."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Self

from lab import BROKERLAB, Lab, wait_until

from brokerlab.errors import NotFoundError
from brokerlab.lab import stop
from brokerlab.results.directory import run_directories
from brokerlab.results.run_state import runner_pid

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

END_WITHIN_S = 20
# What a browser says of a server that is away; anything else is a fault of the page.
AWAY = ("ERR_CONNECTION_REFUSED", "ERR_INCOMPLETE_CHUNKED_ENCODING", "ERR_CONNECTION_RESET", "ERR_EMPTY_RESPONSE")
OURS = "willReadFrequently"  # the tests themselves read the pixels of charts
REFUSED = "401"  # a token that is no longer the server's


class Server:
    """Can be stopped and started again on the same port."""

    def __init__(self, lab: Lab) -> None:
        self._lab = lab
        self._port = 0
        self._process: subprocess.Popen[str] | None = None
        self.url = self.token = ""

    def start(self) -> None:
        command = [*BROKERLAB, "serve", "--port", str(self._port)]
        self._process = subprocess.Popen(command, env=self._lab.env, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        said = self._process.stdout.readline()
        assert said.startswith("dashboard: "), said
        self.url, _, self.token = said.removeprefix("dashboard: ").strip().partition("/#token=")
        self._port = int(self.url.rpartition(":")[2])

    def stop(self) -> None:
        """As Ctrl-C does, with tabs open: it ends all the same."""
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)
            assert self._process.wait(END_WITHIN_S) in (0, 130)
            self._process.communicate()
            self._process = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


@contextmanager
def nothing_left(lab: Lab) -> Iterator[None]:
    """Runs outlive the server that started them; none outlives the test."""
    try:
        yield
    finally:
        for run in run_directories(lab.runs):
            with suppress(NotFoundError):
                stop(run)
            wait_until("the run to end", lambda run=run: runner_pid(run) is None)


class Tab:
    """A page of the dashboard, with all it complained of."""

    def __init__(self, context: BrowserContext, url: str) -> None:
        self.complaints: list[str] = []
        self._context = context
        self.page: Page = context.new_page()
        self.page.set_default_timeout(120_000)
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda e: self.complaints.append(str(e)))
        self.page.goto(url)
        self.page.wait_for_selector("html[data-ready]")

    def _console(self, message: Any) -> None:
        if message.type in ("error", "warning") and not any(word in message.text for word in (*AWAY, OURS, REFUSED)):
            self.complaints.append(message.text)

    def close(self) -> None:
        self._context.close()


class Tabs:
    """Opens tabs, each in a session of its own, and closes them at the end."""

    def __init__(self, browser: Browser, server: Server) -> None:
        self._browser = browser
        self._contexts: list[BrowserContext] = []
        self.server = server

    def __call__(self, path: str, *, width: int = 1400, scheme: Any = "light", unlocked: bool = True) -> Tab:
        context = self._browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        self._contexts.append(context)
        return Tab(context, f"{self.server.url}{path}" + (f"#token={self.server.token}" if unlocked else ""))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for context in self._contexts:
            context.close()
