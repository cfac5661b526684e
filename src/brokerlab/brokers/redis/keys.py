"""Names of streams, and where they live: hash slots of a cluster, or the one master of a replicated server."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

from brokerlab.brokers.redis.connection import Connection
from brokerlab.errors import BrokerError
from brokerlab.model.plan import Endpoint, Security

SLOTS = 16384


def key_of(destination: str, partition: int) -> str:
    """The stream of one partition. All have the same length, so that blocks can be made from one template."""
    return f"{destination}:{partition:05d}"


def keys_of(destinations: tuple[str, ...], partitions: int) -> list[str]:
    """By cell-wide partition number."""
    return [key_of(d, p) for d in destinations for p in range(partitions)]


def slot_of(key: str) -> int:
    """CRC16 (XMODEM) of the key, or of what stands between its first braces, modulo 16384."""
    data = key.encode()
    begin = data.find(b"{")
    end = data.find(b"}", begin + 1) if begin >= 0 else -1
    if end > begin + 1:
        data = data[begin + 1 : end]
    crc = 0
    for byte in data:
        crc ^= byte << 8
        for _ in range(8):
            crc = (crc << 1) ^ 0x1021 if crc & 0x8000 else crc << 1
        crc &= 0xFFFF
    return crc % SLOTS


@dataclass(frozen=True)
class Placement:
    """Which address takes writes for a slot."""

    ranges: tuple[tuple[int, int, str], ...]  # first slot, last slot, address

    @property
    def masters(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(address for _, _, address in self.ranges))

    def address_of(self, key: str) -> str:
        """Raises BrokerError when no server has the key's slot."""
        slot = slot_of(key)
        for first, last, address in self.ranges:
            if first <= slot <= last:
                return address
        raise BrokerError(f"no node serves slot {slot} (key {key})", hint="is the cluster complete?")


def find_placement(endpoint: Endpoint, clustered: bool, connect_s: float = 10.0) -> Placement:
    """Ask the nodes in turn who takes writes. Raises BrokerError with every node's answer when none can say."""
    refusals = []
    for address in endpoint.addresses:
        try:
            made = Connection(address, endpoint.security, "brokerlab-placement", connect_s)
            with contextlib.closing(made) as connection:
                found = _slots(connection) if clustered else _master(connection, endpoint.security, connect_s)
        except (BrokerError, OSError) as e:
            refusals.append(e.message if isinstance(e, BrokerError) else f"{address}: {e}")
            continue
        if found is not None:
            return found
        refusals.append(f"{address}: is a replica and its master does not answer")
    raise BrokerError("no node takes writes: " + "; ".join(refusals))


def _slots(connection: Connection) -> Placement:
    told = connection.call("CLUSTER", "SLOTS")
    assert isinstance(told, list)
    host = connection.address.rpartition(":")[0]
    ranges = []
    for first, last, master, *_ in told:
        # An empty address means: the one you have asked.
        ranges.append((int(first), int(last), f"{(master[0] or b'').decode() or host}:{int(master[1])}"))
    if not ranges:
        raise BrokerError(f"{connection.address} serves no slots yet")
    return Placement(tuple(ranges))


def _master(connection: Connection, security: Security | None, connect_s: float) -> Placement | None:
    """This node, or the master it follows, if that answers as one."""
    role = connection.call("ROLE")
    assert isinstance(role, list)
    if role[0] == b"master":
        return Placement(((0, SLOTS - 1, connection.address),))
    address = f"{role[1].decode()}:{int(role[2])}"
    with (
        contextlib.suppress(BrokerError, OSError),
        contextlib.closing(Connection(address, security, "brokerlab-placement", connect_s)) as other,
    ):
        told = other.call("ROLE")
        assert isinstance(told, list)
        return Placement(((0, SLOTS - 1, address),)) if told[0] == b"master" else None
    return None
