"""The socket under the native path: whom to connect to, what to say first, and connecting again. See native/nats.h."""

from __future__ import annotations

import ctypes
import json
import time
import uuid
from collections.abc import Callable

from brokerlab.brokers.kit.dialing import Where, dial, resolved
from brokerlab.brokers.kit.wire import credentials, split_address
from brokerlab.brokers.nats.link import CONNECT_HINT
from brokerlab.errors import BrokerError
from brokerlab.model.plan import Endpoint

DOWN, OPENING, GREETING, UP = 0, 1, 2, 3  # as native/nats.h has them
CONNECT_NS = 5_000_000_000  # for one address, greeting included
DIAL_EVERY_NS = 200_000_000


def new_inbox(kind: str) -> str:
    """A subject that no other client uses, ending in a dot."""
    return f"{kind}.{uuid.uuid4().hex[:16]}."


def hello(endpoint: Endpoint, name: str, subscriptions: list[str]) -> bytes:
    """The first lines to a server: who we are, what we listen to (sid 1, 2, ...), and a PING whose PONG says yes."""
    connect: dict[str, object] = {
        "verbose": False,
        "pedantic": False,
        "lang": "brokerlab",
        "version": "1",
        "protocol": 1,
        "headers": True,  # without them the server could not say that there is no listener
        "no_responders": True,
        "name": name,
    }
    user, password = credentials(endpoint.security)
    if user:
        connect |= {"user": user, "pass": password}
    lines = [f"CONNECT {json.dumps(connect)}"]
    lines += [f"SUB {subject} {sid}" for sid, subject in enumerate(subscriptions, 1)]
    return "".join(f"{line}\r\n" for line in (*lines, "PING")).encode()


class Wire:
    """Keeps the connection of one C producer or consumer: opened here, used and lost there, opened again here."""

    def __init__(self, lib: ctypes.CDLL, handle: int, endpoint: Endpoint, first_address: int) -> None:
        self._lib = lib
        self._handle = handle
        self._addresses = endpoint.addresses
        self._resolved = [_resolved(a) for a in self._addresses]
        self._turn = first_address % len(self._addresses)
        self._dial_at_ns = 0
        self._give_up_at_ns = 0

    def open(self) -> None:
        """Connect to the first address in turn that welcomes us. Raises BrokerError when none does."""
        said = ""
        for _ in self._addresses:
            where = self._addresses[self._turn]
            said = self._dial()
            if not said:
                self._lib.bl_nats_greet(self._handle, self._give_up_at_ns)
                if self._lib.bl_nats_state(self._handle) == UP:
                    return
                said = self.why() or "no greeting in time"
            said = f"cannot connect to NATS at {where}: {said}"
        raise BrokerError(said, hint=CONNECT_HINT)

    def heal(self) -> None:
        """One step towards a connection that is up again; never waits. Addresses are tried in turn."""
        now = time.monotonic_ns()
        state = self._lib.bl_nats_state(self._handle)
        if state in (OPENING, GREETING) and now >= self._give_up_at_ns:
            self._lib.bl_nats_hang_up(self._handle)
        elif state == DOWN and now >= self._dial_at_ns:
            self._dial()

    def why(self) -> str:
        """What the server or the system said about the last loss."""
        return str(self._lib.bl_nats_why(self._handle).decode(errors="replace"))

    def _dial(self) -> str:
        """Begin to connect to the next address. Returns why that failed at once, if so."""
        where = self._resolved[self._turn]
        self._turn = (self._turn + 1) % len(self._addresses)
        now = time.monotonic_ns()
        self._dial_at_ns, self._give_up_at_ns = now + DIAL_EVERY_NS, now + CONNECT_NS
        number, why_not = dial(where)
        if number >= 0:
            self._lib.bl_nats_attach(self._handle, number)
        return why_not


def opened_wire(
    lib: ctypes.CDLL, handle: int, endpoint: Endpoint, first_address: int, *, otherwise: Callable[[], None]
) -> Wire:
    """A connection that is up. Where none can be had, does `otherwise` and raises BrokerError."""
    try:
        wire = Wire(lib, handle, endpoint, first_address)
        wire.open()
    except BrokerError:
        otherwise()
        raise
    return wire


def _resolved(address: str) -> Where:
    """Looked up once."""
    try:
        return resolved(*split_address(address))
    except OSError as e:
        raise BrokerError(f"cannot connect to NATS at {address}: {e}", hint="give host:port") from e
