"""Streams and groups, and the durability that follows from what the servers report."""

from __future__ import annotations

from collections.abc import Mapping

import hiredis

from brokerlab.brokers.contract import ComputedDurability
from brokerlab.brokers.redis.connection import Command, Connection, ServerError, lacks
from brokerlab.brokers.redis.entries import pairs, parse_info
from brokerlab.brokers.redis.keys import Placement, find_placement, key_of, keys_of
from brokerlab.brokers.redis.names import is_clustered
from brokerlab.brokers.redis.settings import level_of, waiting_of
from brokerlab.errors import BrokerError
from brokerlab.model.plan import CellPlan, Endpoint

PARTITIONS_AT_ONCE = 500
_CONFIG = ("appendonly", "appendfsync", "save", "maxmemory", "maxmemory-policy", "min-replicas-to-write")
_INFO = ("role", "connected_slaves", "redis_mode", "aof_enabled", "aof_last_write_status")
_FIRST_GROUP = "brokerlab-first"  # exists for a moment: an empty stream can only be made together with a group


def server_version(info: Mapping[str, str]) -> str:
    """With the product's name. Valkey goes on to report a redis_version, 7.2.4, for old clients."""
    if "valkey_version" in info:
        return f"Valkey {info['valkey_version']}"
    return f"Redis {info.get('redis_version', '?')}"


class RedisAdmin:
    """See brokers.contract.Admin."""

    def __init__(self, endpoint: Endpoint, cell: CellPlan) -> None:
        self._endpoint, self._clustered = endpoint, is_clustered(cell.broker)
        self._waiting = waiting_of(cell.durability, cell.client_settings)
        self._connections: dict[str, Connection] = {}
        try:
            placement = self._placement()
            if self._waiting.command != "none":
                for address in placement.masters:
                    self._refuse_without(self._waiting.command, address)
        except BaseException:
            self.close()
            raise

    def _refuse_without(self, command: str, address: str) -> None:
        """Before anything runs: Redis before 7.2 has no WAITAOF, and every message would be called unknown."""
        known = {str(told[0], "utf-8").upper() for told in self._ask(address, [("COMMAND",)])[0]}  # type: ignore[attr-defined]
        if command not in known:
            raise lacks(f"{address} ({server_version(self._info(address))})", command)

    def _placement(self) -> Placement:
        return find_placement(self._endpoint, self._clustered)

    def _ask(self, address: str, commands: list[Command], fine: str = "-") -> list[object]:
        """The replies of one node, on a connection that is kept; errors that begin with `fine` are as good as any.
        Raises BrokerError."""
        if address not in self._connections:
            self._connections[address] = Connection(address, self._endpoint.security, "brokerlab-admin")
        try:
            replies = self._connections[address].call_many(commands)
        except (OSError, hiredis.HiredisError) as e:
            self._connections.pop(address).close()
            raise BrokerError(f"{address} does not answer: {e}") from e
        for reply in replies:
            if isinstance(reply, hiredis.ReplyError) and not str(reply).startswith(fine):
                raise ServerError(address, reply)
        return replies

    def _by_master(self, keys: list[str]) -> dict[str, list[str]]:
        placement = self._placement()
        lots: dict[str, list[str]] = {}
        for key in keys:
            lots.setdefault(placement.address_of(key), []).append(key)
        return lots

    def create(self, destinations: tuple[str, ...], partitions: int, groups: tuple[str, ...]) -> None:
        for address, keys in self._by_master(keys_of(destinations, partitions)).items():
            commands: list[Command] = []
            for key in keys:
                commands.append(("XGROUP", "CREATE", key, _FIRST_GROUP, "0", "MKSTREAM"))
                commands.append(("XGROUP", "DESTROY", key, _FIRST_GROUP))
                commands += [("XGROUP", "CREATE", key, group, "0") for group in groups]
            self._ask(address, commands, fine="BUSYGROUP")

    def delete(self, destinations: tuple[str, ...], groups: tuple[str, ...]) -> None:  # noqa: ARG002 - end with their stream
        for destination in destinations:
            for address, keys in self._by_master(self._existing(destination)).items():
                self._ask(address, [("UNLINK", key) for key in keys])

    def _existing(self, destination: str) -> list[str]:
        """The destination's streams: partitions are counted from 0 without gaps, so the first missing one ends it."""
        found: list[str] = []
        while True:
            keys = [key_of(destination, p) for p in range(len(found), len(found) + PARTITIONS_AT_ONCE)]
            there = set()
            for address, some in self._by_master(keys).items():
                answers = self._ask(address, [("EXISTS", key) for key in some])
                there |= {key for key, answer in zip(some, answers, strict=True) if answer}
            new = [key for key in keys if key in there]
            found += new
            if len(new) < len(keys):
                return found

    def effective_settings(self, destinations: tuple[str, ...]) -> dict[str, dict[str, str]]:
        found = {f"server:{address}": self._server(address) for address in self._servers()}
        for destination in destinations:
            keys = self._existing(destination)
            if keys:
                found[destination] = self._streams(keys)
        return found

    def _servers(self) -> list[str]:
        """Every node that answers, masters first."""
        masters = self._placement().masters
        return [*masters, *(a for a in self._endpoint.addresses if a not in masters and self._answers(a))]

    def _answers(self, address: str) -> bool:
        try:
            self._ask(address, [("PING",)])
        except BrokerError:
            return False
        return True

    def _info(self, address: str) -> dict[str, str]:
        return parse_info(self._ask(address, [("INFO", "everything")])[0])

    def _server(self, address: str) -> dict[str, str]:
        info = self._info(address)
        config = pairs(self._ask(address, [("CONFIG", "GET", *_CONFIG)])[0])
        online = sum(1 for name, value in info.items() if name.startswith("slave") and "state=online" in value)
        told = {name: info[name] for name in _INFO if name in info}
        settings = {str(name, "utf-8"): str(value, "utf-8") for name, value in config.items()}
        return {"version": server_version(info), "replicas_online": str(online)} | told | settings

    def _streams(self, keys: list[str]) -> dict[str, str]:
        length, groups, lots = 0, set(), self._by_master(keys)
        for address, some in lots.items():
            for key in some:
                entries, known = self._ask(address, [("XLEN", key), ("XINFO", "GROUPS", key)])
                length += int(str(entries))
                groups |= {str(pairs(group)[b"name"], "utf-8") for group in known}  # type: ignore[attr-defined]
        return {
            "streams": str(len(keys)),
            "masters": str(len(lots)),
            "length": str(length),
            "groups": ",".join(sorted(groups)) or "none",
        }

    def durability(self, destinations: tuple[str, ...]) -> ComputedDurability:
        """The weakest node decides, and the master with the fewest replicas."""
        settings = self.effective_settings(destinations)
        servers = [values for subject, values in settings.items() if subject.startswith("server:")]
        masters = [s for s in servers if s["role"] == "master"]
        waiting = self._waiting
        replicas = min(int(s["replicas_online"]) for s in masters)
        # Without waiting for replicas, only the masters' own files count.
        counted = servers if waiting.command != "none" else masters
        appendonly = all(s.get("appendonly") == "yes" for s in counted)
        policies = {s.get("appendfsync", "no") for s in counted}
        appendfsync = next(p for p in ("no", "everysec", "always") if p in policies)
        because = {
            "appendonly": "yes" if appendonly else "no",
            "appendfsync": appendfsync,
            "replicas_online": str(replicas),
            "producers_wait": waiting.words,
            "version": ", ".join(sorted({s["version"] for s in servers})),
        }
        return ComputedDurability(level_of(waiting, replicas, appendonly, appendfsync), because)

    def close(self) -> None:
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()
