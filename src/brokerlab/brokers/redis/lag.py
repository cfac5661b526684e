"""What streams take in and how far their groups are behind, from XINFO. A stream is a destination of one partition.

Streams are found by SCAN, a part of the keys at a time: a server with millions of other keys must not notice it. SCAN goes on
where it ended, so that new streams of such a server are found later.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from brokerlab.brokers.contract import NodeInfo, Reading
from brokerlab.brokers.kit.lag import MOST_DESTINATIONS, Listing, destination_readings, lag_reading
from brokerlab.brokers.redis.connection import Command, Connection
from brokerlab.brokers.redis.entries import pairs
from brokerlab.brokers.redis.keys import find_placement
from brokerlab.errors import BrokerError
from brokerlab.model.plan import Endpoint, Security

KEYS_AT_ONCE = 500  # that one SCAN looks at
SCANS = 20  # of one listing
_TIMEOUT_S = 1.0


class RedisLag:
    """See brokers.contract.WatchedByEndpoint. Asks the masters; one that does not answer costs its own streams, and who
    takes writes is found out again."""

    clustered = False

    def __init__(self, endpoint: Endpoint, nodes: tuple[NodeInfo, ...], name: str) -> None:  # noqa: ARG002 - masters are asked for
        self._endpoint, self._name = endpoint, name
        self._masters: dict[str, Master] = {}
        self._changed = True  # who takes writes
        self._missing: dict[str, str] = {}

    def missing(self) -> dict[str, str]:
        """What the last reading lacks, and why."""
        return self._missing

    def read(self) -> list[Reading]:
        if self._changed:
            self._find_masters()
        readings: list[Reading] = []
        self._missing = {}
        lost = []
        for address, master in self._masters.items():
            try:
                readings += self._of(master)
            except (BrokerError, OSError) as error:
                lost.append(str(error))
                self._missing[f"streams at {address}"] = str(error)
                master.close()
        self._changed = bool(lost)
        if len(lost) == len(self._masters):
            raise BrokerError("; ".join(lost))
        return readings

    def _find_masters(self) -> None:
        addresses = find_placement(self._endpoint, self.clustered, _TIMEOUT_S).masters
        for address in self._masters.keys() - set(addresses):
            self._masters.pop(address).close()
        security = self._endpoint.security
        self._masters = {a: self._masters.get(a) or Master(a, security) for a in addresses}

    def _of(self, master: Master) -> Iterator[Reading]:
        for key, about, groups in master.told():
            stream = key.decode(errors="replace")
            # A server before Redis 7 counts neither what was added nor how far groups are behind.
            added = about.get(b"entries-added")
            yield from destination_readings(self._name, stream, taken_in=added, held=about[b"length"])
            for group in groups:
                name = bytes(group[b"name"]).decode(errors="replace")
                if group.get(b"lag") is None:
                    self._missing[f"group {name} of {stream}"] = "the server does not know how far it is behind"
                else:
                    yield lag_reading(self._name, name, stream, group[b"lag"] + group[b"pending"])
        self._missing |= master.streams.missing()

    def __del__(self) -> None:
        for master in self._masters.values():
            master.close()


class ClusterLag(RedisLag):
    """The same, of a cluster: its nodes say which of them take writes."""

    clustered = True


class Master:
    """One server and its streams. Methods raise BrokerError and OSError; after that it must be closed, and can go on."""

    def __init__(self, address: str, security: Security | None) -> None:
        self._address, self._security = address, security
        self._connection: Connection | None = None
        self._keys: dict[bytes, None] = {}
        self._cursor: bytes = b"0"
        self.streams = Listing(self._list, "streams")

    def told(self) -> Iterator[tuple[bytes, dict[bytes, Any], list[dict[bytes, Any]]]]:
        """Of every stream: its key, what XINFO STREAM says, what it says of each group. One that cannot be read (it is
        gone or has moved, or this user must not) is left out."""
        keys = self.streams.now()
        # An answer about a stream has its first and last message in it; there is no question that leaves them out.
        asked: list[Command] = [("XINFO", part, key) for key in keys for part in ("STREAM", "GROUPS")]
        answers = self._connected().call_many(asked, _TIMEOUT_S) if asked else []
        for key, about, groups in zip(keys, answers[::2], answers[1::2], strict=True):
            if isinstance(about, list) and isinstance(groups, list):
                yield key, pairs(about), [pairs(group) for group in groups]
            else:
                self._keys.pop(key, None)
                self.streams.forget()

    def _list(self) -> Iterable[bytes]:
        for _ in range(SCANS):
            answer = self._connected().call(
                "SCAN", self._cursor, "COUNT", KEYS_AT_ONCE, "TYPE", "stream", seconds=_TIMEOUT_S
            )
            assert isinstance(answer, list)
            self._cursor, found = answer
            self._keys.update(dict.fromkeys(found))
            if self._cursor == b"0" or len(self._keys) > MOST_DESTINATIONS:
                break
        return tuple(self._keys)

    def _connected(self) -> Connection:
        if self._connection is None:
            self._connection = Connection(self._address, self._security, "brokerlab-lag", _TIMEOUT_S)
        return self._connection

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
