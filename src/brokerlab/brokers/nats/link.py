"""A nats-py client together with the event loop it runs in, stepped by its owner."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import selectors
import ssl
import time
from collections.abc import Callable, Coroutine
from importlib.metadata import version
from typing import Any, TypeVar

from nats.aio.client import Client
from nats.errors import AuthorizationError, Error, NoRespondersError

from brokerlab.brokers.kit.deadlines import seconds_until
from brokerlab.errors import BrokerError
from brokerlab.model.plan import Endpoint
from brokerlab.processes.ports import all_refuse
from brokerlab.secrets import secret

CONNECT_S = 10.0
CONNECT_HINT = "is the server running, and does it take this user, password and TLS?"
API_S = 20.0
NO_TLS = "the server offers no TLS"
STEP_AT_LEAST_EVERY_NS = 2_000_000
PATH = f"python (nats-py {version('nats-py')})"
Result = TypeVar("Result")

# asyncio's own streams make it say this of every TLS connection the other side ends; it means nothing.
logging.getLogger("asyncio").addFilter(lambda record: "eof_received() has no effect" not in record.getMessage())


class JetStreamError(BrokerError):
    """JetStream's API refused a request; `err_code` is its own number for why."""

    def __init__(self, subject: str, error: dict[str, Any]) -> None:
        super().__init__(f"{subject}: {error.get('description')} ({error.get('err_code')})")
        self.code = int(error.get("code", 0))
        self.err_code = int(error.get("err_code", 0))


class NoTlsError(Error):
    """TLS was asked for and the server does not do it."""


class Link:
    """One connection. The loop runs only inside `run`, `step` and `wait`: no thread of our own."""

    def __init__(self, endpoint: Endpoint, name: str, *, first_address: int = 0, pending_bytes: int = 2 << 20) -> None:
        self._security = endpoint.security
        credentials = self._credentials()
        addresses = endpoint.addresses
        if all_refuse(addresses):  # the library would try until its time is up
            raise BrokerError(f"cannot connect to NATS at {', '.join(addresses)}: refused", hint=CONNECT_HINT)
        turn = first_address % len(addresses)
        servers = [f"nats://{a}" for a in (*addresses[turn:], *addresses[:turn])]
        self._selector = selectors.DefaultSelector()
        self.loop = asyncio.SelectorEventLoop(self._selector)
        self._step_by_ns = 0
        self.client = Client()
        self._waiting = False
        self.on_disconnect: Callable[[], None] | None = None
        self.on_reconnect: Callable[[], None] | None = None
        self.last_error = ""
        self._refused: asyncio.Future[str] | None = None
        try:
            connect = self._connect(servers, name, pending_bytes, credentials)
            self.run(self._unless_refused(connect), CONNECT_S)
        except (OSError, Error, TimeoutError) as e:
            self._end()
            said = self.last_error or str(e) or type(e).__name__
            where = ", ".join(addresses)
            raise BrokerError(f"cannot connect to NATS at {where}: {said}", hint=CONNECT_HINT) from e

    async def _unless_refused(self, connect: Coroutine[Any, Any, None]) -> None:
        """The library tries again for ever; a server that does not want us is not asked twice."""
        self._refused = self.loop.create_future()
        connecting = self.loop.create_task(connect)
        try:
            either: set[asyncio.Future[Any]] = {connecting, self._refused}
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if self._refused.done():
                self.last_error = self._refused.result()  # a broken pipe may have come after it
                raise Error(self.last_error)
            await connecting
            if self._is_plain():
                await self.client.close()
                raise NoTlsError(NO_TLS)
        finally:
            self._refused = None
            connecting.cancel()

    async def _connect(self, servers: list[str], name: str, pending_bytes: int, credentials: dict[str, Any]) -> None:
        await self.client.connect(
            servers,
            name=name,
            dont_randomize=True,
            error_cb=self._on_error,
            disconnected_cb=self._on_disconnected,
            reconnected_cb=self._on_reconnected,
            max_reconnect_attempts=-1,
            reconnect_time_wait=0.2,  # type: ignore[arg-type]
            pending_size=4 * pending_bytes,  # nats-py blocks at this size; we stop offering long before
            skip_subject_validation=True,  # our subjects are made of checked names
            **credentials,
        )

    def _credentials(self) -> dict[str, Any]:
        """What nats-py needs to prove who we are and to know the server."""
        security = self._security
        given: dict[str, Any] = {}
        if security is not None and security.tls:
            given["tls"] = ssl.create_default_context(cafile=security.ca_file)
        if security is not None and security.user is not None:
            # Resolved now, so that a bad reference is reported at once; handed over when the library writes CONNECT.
            password = "" if security.password is None else secret(security.password)
            given |= {"user": security.user, "password": lambda: self._unless_plain(password)}
        return given

    def _is_plain(self) -> bool:
        """nats-py goes on without TLS where the server does not ask for it."""
        wanted = self._security is not None and self._security.tls
        return wanted and not self.client._server_info.get("tls_required")

    def _unless_plain(self, password: str) -> str:
        if self._is_plain():
            raise NoTlsError(NO_TLS)
        return password

    async def _on_error(self, error: Exception) -> None:
        self.last_error = str(error) or type(error).__name__
        refused = isinstance(error, ssl.SSLError | AuthorizationError | NoTlsError) or "uthorization" in self.last_error
        if refused and self._refused is not None and not self._refused.done():
            self._refused.set_result(self.last_error)

    async def _on_disconnected(self) -> None:
        if self.on_disconnect is not None:
            self.on_disconnect()

    async def _on_reconnected(self) -> None:
        if self.on_reconnect is not None:
            self.on_reconnect()

    def run(self, work: Coroutine[Any, Any, Result], seconds: float) -> Result:
        """Run until `work` is done. Raises TimeoutError."""
        return self.loop.run_until_complete(asyncio.wait_for(work, seconds))

    def run_now(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Run work that is known not to wait."""
        return self.loop.run_until_complete(work)

    def step(self, turns: int = 4) -> None:
        """Let everything that is ready happen, without waiting. What arrives passes through the socket's reader, the
        parser's task and the subscription's task, one turn of the loop each."""

        def again(left: int) -> None:
            if left:
                self.loop.call_soon(again, left - 1)
            else:
                self.loop.stop()

        self.loop.call_soon(again, turns - 1)
        self.loop.run_forever()

    def step_if_needed(self) -> None:
        """`step`, where there is something to read or to write, or the library's timers have not run for a while.

        A step is several turns of the event loop; asking the selector whether anything is ready is one system call.
        """
        now = time.monotonic_ns()
        if self.client.pending_data_size or now >= self._step_by_ns or self._selector.select(0):
            self._step_by_ns = now + STEP_AT_LEAST_EVERY_NS
            self.step()

    def wait(self, deadline_mono_ns: int) -> None:
        """Let things happen until someone calls `wake`, or the deadline."""
        seconds = (deadline_mono_ns - time.monotonic_ns()) / 1e9
        if seconds <= 0:
            self.step()
            return
        timer = self.loop.call_later(seconds, self.loop.stop)
        self._waiting = True
        self.loop.run_forever()
        self._waiting = False
        timer.cancel()

    def wake(self) -> None:
        """End a `wait`; without effect on anything else that runs."""
        if self._waiting:
            self.loop.stop()

    def api(self, subject: str, request: dict[str, Any] | None = None, seconds: float = API_S) -> dict[str, Any]:
        """One request to JetStream's API. Raises JetStreamError when it refuses, BrokerError without an answer."""
        self.step()  # what has come since the last request is heard first: perhaps the end of the connection
        return self.run(self.api_async(subject, request, seconds), seconds + 5)

    async def api_async(self, subject: str, request: dict[str, Any] | None, seconds: float) -> dict[str, Any]:
        body = b"" if request is None else json.dumps(request).encode()
        try:
            message = await self.client.request(f"$JS.API.{subject}", body, timeout=seconds)
        except NoRespondersError as e:
            raise BrokerError(f"{subject}: JetStream does not answer", hint="is it enabled, with a leader?") from e
        except (Error, TimeoutError) as e:
            raise BrokerError(f"{subject}: {str(e) or type(e).__name__}") from e
        answer: dict[str, Any] = json.loads(message.data)
        if "error" in answer:
            raise JetStreamError(subject, answer["error"])
        return answer

    def close(self, deadline_mono_ns: int) -> None:
        """Flush and disconnect, at the deadline at the latest. Idempotent."""
        if self.loop.is_closed():
            return
        self.on_disconnect = self.on_reconnect = None
        seconds = min(10.0, seconds_until(deadline_mono_ns, 0.1))
        try:
            self.run(self.client.close(), seconds)
        except (OSError, Error, TimeoutError) as e:
            self.last_error = str(e)
        self._end()

    def _end(self) -> None:
        """Leave no task and no connection behind: a loop closed with them complains later, in other code.

        The library forgets connections whose TLS was refused; the loop knows all of them.
        """
        self.loop.run_until_complete(_cancel(asyncio.all_tasks(self.loop)))
        for transport in list(self.loop._transports.values()):  # type: ignore[attr-defined]
            transport.abort()
        self.step()  # an aborted connection is closed in the loop's next turn
        self.loop.run_until_complete(self.loop.shutdown_asyncgens())
        self.loop.close()


async def _cancel(tasks: set[asyncio.Task[Any]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def broker_name(name: str) -> str:
    """A destination's or group's name as JetStream allows it: no dots, wildcards, blanks or slashes."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)


def subject_of(destination: str, partition: int) -> str:
    return f"{broker_name(destination)}.{partition}"
