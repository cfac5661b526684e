"""All destinations of one server, and how much memory they may hold."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from brokerlab.brokers.memory.log import Partition

Member = TypeVar("Member")


class UnknownDestinationError(Exception):
    """A client asked for a destination that does not exist, or with another number of partitions."""


class Store(Generic[Member]):
    """Destinations by name. Consumed messages are kept for replay up to `retain_bytes`; at `limit_bytes` it is full."""

    def __init__(self, retain_bytes: int, limit_bytes: int) -> None:
        self.retain_bytes = retain_bytes
        self.limit_bytes = limit_bytes
        self.held_bytes = 0
        self._destinations: dict[str, list[Partition[Member]]] = {}
        self._partitions_made = 0

    def create(self, destinations: list[str], partitions: int, groups: list[str]) -> None:
        """Make what does not exist yet; groups stand at the oldest message."""
        for name in destinations:
            if name not in self._destinations:
                numbers = range(self._partitions_made, self._partitions_made + partitions)
                self._destinations[name] = [Partition(n) for n in numbers]
                self._partitions_made += partitions
            for partition in self._destinations[name]:
                for group in groups:
                    partition.cursor(group)

    def delete(self, destinations: list[str], groups: list[str]) -> None:
        """Delete destinations with everything in them, and groups without members wherever they remain."""
        for name in destinations:
            for partition in self._destinations.pop(name, []):
                self.held_bytes -= partition.bytes
        for partitions in self._destinations.values():
            for partition in partitions:
                for group in groups:
                    if group in partition.cursors and not partition.cursors[group].members:
                        del partition.cursors[group]

    def partitions(self, destinations: list[str], count: int) -> list[Partition[Member]]:
        """The partitions of these destinations, in order."""
        found: list[Partition[Member]] = []
        for name in destinations:
            if name not in self._destinations:
                raise UnknownDestinationError(f"no destination is called {name!r}")
            if len(self._destinations[name]) != count:
                raise UnknownDestinationError(f"{name!r} has {len(self._destinations[name])} partitions, not {count}")
            found += self._destinations[name]
        return found

    def grew(self, by_bytes: int) -> None:
        self.held_bytes += by_bytes

    def shrink(self) -> None:
        """Forget consumed messages beyond `retain_bytes`."""
        for partitions in self._destinations.values():
            for partition in partitions:
                if self.held_bytes <= self.retain_bytes:
                    return
                self.held_bytes -= partition.drop_consumed(self.held_bytes - self.retain_bytes)

    def is_full(self) -> bool:
        return self.held_bytes >= self.limit_bytes

    def held_messages(self) -> int:
        return sum(p.end - p.start for ps in self._destinations.values() for p in ps)

    def describe(self, destinations: list[str]) -> dict[str, Any]:
        """Settings in force; a destination that does not exist is left out."""
        server = {
            "storage": "memory",
            "replicas": "1",
            "fsync": "never",
            "retain_bytes": str(self.retain_bytes),
            "limit_bytes": str(self.limit_bytes),
        }
        known = {n: {"partitions": str(len(self._destinations[n]))} for n in destinations if n in self._destinations}
        return {"server": server, "destinations": known}
