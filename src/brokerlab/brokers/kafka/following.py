"""Keeps a client that speaks Kafka's protocol itself connected to the leaders of its partitions."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from brokerlab.brokers.kafka.leaders import Leaders, Where
from brokerlab.brokers.kit.dialing import dial, resolved
from brokerlab.errors import BrokerError

DIAL_EVERY_NS = 200_000_000
ASK_EVERY_NS = 200_000_000
UNKNOWN_MOST_NS = 30_000_000_000  # a topic that is unknown for so long does not come back
CONNECTIONS_MOST = 64  # as native/kafka_fetch.h and kafka_produce.h have it
_BUFFERS = {"socket.receive.buffer.bytes": socket.SO_RCVBUF, "socket.send.buffer.bytes": socket.SO_SNDBUF}


@dataclass(frozen=True)
class ClientInC:
    """Handle and functions of the client: adopt a socket as a connection, lead a partition over a connection (-1:
    none), whether a connection is up."""

    handle: int
    attach: Any
    lead: Any
    is_up: Any


class Following:
    """Never waits: each `mend` is one step towards all partitions being led again."""

    def __init__(self, client: ClientInC, leaders: Leaders, settings: Mapping[str, str]) -> None:
        self._client = client
        self._leaders = leaders
        self._buffers = {option: int(settings[name]) for name, option in _BUFFERS.items() if int(settings.get(name, 0))}
        self._places: dict[Where, int] = {}  # the number of the connection to a broker
        self._dial_at_ns: dict[int, int] = {}
        self._lead_by: dict[int, int] = {}
        self._ask_at_ns = self._unknown_since_ns = 0

    def follow(self, leaders: Mapping[int, Where | None], now_ns: int) -> None:
        """Each partition over the connection to its leader; one without a leader waits."""
        for number, where in leaders.items():
            place = -1
            if where is not None:
                place = self._places.setdefault(where, len(self._places))
                if place >= CONNECTIONS_MOST:
                    raise BrokerError(f"more than {CONNECTIONS_MOST} brokers lead the partitions of one client")
                if not self._is_up(place):
                    self._dial(where, place, now_ns)
            self._lead_by[number] = place
            self._client.lead(self._client.handle, number, place)

    def mend(self, now_ns: int, without: frozenset[int] = frozenset()) -> None:
        """Ask who leads, or follow what was answered (`without` these partitions); dial what is down. Raises BrokerError
        when a destination is gone for good."""
        found = self._leaders.leaders()
        if found is not None:
            self._note_unknown(now_ns)
            self.follow({n: where for n, where in found.items() if n not in without}, now_ns)
        elif now_ns >= self._ask_at_ns:
            self._ask_at_ns = now_ns + ASK_EVERY_NS
            self._leaders.ask_leaders()
        for where, place in self._places.items():
            if place in self._lead_by.values() and not self._is_up(place):
                self._dial(where, place, now_ns)

    def _is_up(self, place: int) -> bool:
        return bool(self._client.is_up(self._client.handle, place))

    def _note_unknown(self, now_ns: int) -> None:
        if not self._leaders.unknown_topic:
            self._unknown_since_ns = 0
        elif not self._unknown_since_ns:
            self._unknown_since_ns = now_ns
        elif now_ns - self._unknown_since_ns > UNKNOWN_MOST_NS:
            raise BrokerError("the client cannot go on: its destination is not there any more")

    def _dial(self, where: Where, place: int, now_ns: int) -> None:
        """Begin to connect; how it ends shows when it is used."""
        if now_ns < self._dial_at_ns.get(place, 0):
            return
        self._dial_at_ns[place] = now_ns + DIAL_EVERY_NS
        with contextlib.suppress(OSError):
            number, _ = dial(resolved(*where), self._buffers)
            if number >= 0:
                self._client.attach(self._client.handle, place, number)
