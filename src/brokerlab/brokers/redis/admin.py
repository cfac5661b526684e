"""Streams and groups, and the durability that follows from what the servers report."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import redis

from brokerlab.brokers.contract import ComputedDurability
from brokerlab.brokers.kit.wire import split_address
from brokerlab.brokers.redis.connection import lacks
from brokerlab.brokers.redis.keys import Placement, find_placement, key_of, keys_of
from brokerlab.brokers.redis.names import is_clustered
from brokerlab.brokers.redis.settings import level_of, waiting_of
from brokerlab.errors import BrokerError
from brokerlab.model.plan import CellPlan, Endpoint, Security
from brokerlab.secrets import secret

ANSWER_S = 20.0
PARTITIONS_AT_ONCE = 500
_CONFIG = ("appendonly", "appendfsync", "save", "maxmemory", "maxmemory-policy", "min-replicas-to-write")
_INFO = ("role", "connected_slaves", "redis_mode", "aof_enabled", "aof_last_write_status")
_FIRST_GROUP = "brokerlab-first"  # exists for a moment: an empty stream can only be made together with a group


def server_version(info: dict[str, Any]) -> str:
    """With the product's name. Valkey goes on to report a redis_version, 7.2.4, for old clients."""
    if "valkey_version" in info:
        return f"Valkey {info['valkey_version']}"
    return f"Redis {info.get('redis_version', '?')}"


class RedisAdmin:
    """See brokers.contract.Admin."""

    def __init__(self, endpoint: Endpoint, cell: CellPlan) -> None:
        self._endpoint, self._clustered = endpoint, is_clustered(cell.broker)
        self._waiting = waiting_of(cell.durability, cell.client_settings)
        self._clients: dict[str, redis.Redis] = {}
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
        client = self._client(address)
        if command.lower() not in _told(client.command):
            version = server_version(_told(client.info))
            raise lacks(f"{address} ({version})", command)

    def _placement(self) -> Placement:
        return find_placement(self._endpoint, self._clustered)

    def _client(self, address: str) -> redis.Redis:
        if address not in self._clients:
            self._clients[address] = connect(address, self._endpoint.security)
        return self._clients[address]

    def _by_master(self, keys: list[str]) -> list[tuple[redis.Redis, list[str]]]:
        placement = self._placement()
        lots: dict[str, list[str]] = {}
        for key in keys:
            lots.setdefault(placement.address_of(key), []).append(key)
        return [(self._client(address), some) for address, some in lots.items()]

    def create(self, destinations: tuple[str, ...], partitions: int, groups: tuple[str, ...]) -> None:
        for client, keys in self._by_master(keys_of(destinations, partitions)):
            pipeline = client.pipeline(transaction=False)
            for key in keys:
                pipeline.xgroup_create(key, _FIRST_GROUP, id="0", mkstream=True)
                pipeline.xgroup_destroy(key, _FIRST_GROUP)
                for group in groups:
                    pipeline.xgroup_create(key, group, id="0")
            for answer in _told(lambda p=pipeline: p.execute(raise_on_error=False)):  # type: ignore[misc]
                if isinstance(answer, redis.RedisError) and not str(answer).startswith("BUSYGROUP"):
                    raise BrokerError(f"a stream could not be made: {answer}")

    def delete(self, destinations: tuple[str, ...], groups: tuple[str, ...]) -> None:  # noqa: ARG002 - end with their stream
        for destination in destinations:
            for client, keys in self._by_master(self._existing(destination)):
                for key in keys:
                    _told(lambda c=client, k=key: c.unlink(k))  # type: ignore[misc]

    def _existing(self, destination: str) -> list[str]:
        """The destination's streams: partitions are counted from 0 without gaps, so the first missing one ends it."""
        found: list[str] = []
        while True:
            keys = [key_of(destination, p) for p in range(len(found), len(found) + PARTITIONS_AT_ONCE)]
            there = set()
            for client, some in self._by_master(keys):
                pipeline = client.pipeline(transaction=False)
                for key in some:
                    pipeline.exists(key)
                answers = _told(pipeline.execute)
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
            _told(self._client(address).ping)
        except BrokerError:
            return False
        return True

    def _server(self, address: str) -> dict[str, str]:
        client = self._client(address)
        info: dict[str, Any] = _told(client.info)
        config: dict[str, Any] = _told(lambda: client.config_get(*_CONFIG))
        told = {name: str(info[name]) for name in _INFO if name in info}
        online = sum(
            1 for name, v in info.items() if name.startswith("slave") and isinstance(v, dict) and v["state"] == "online"
        )
        return (
            {"version": server_version(info), "replicas_online": str(online)}
            | told
            | {k: str(v) for k, v in config.items()}
        )

    def _streams(self, keys: list[str]) -> dict[str, str]:
        placement = self._placement()
        lengths, groups = 0, set()
        for key in keys:
            client = self._client(placement.address_of(key))
            lengths += _told(lambda c=client, k=key: c.xlen(k))  # type: ignore[misc]
            groups |= {str(g["name"]) for g in _told(lambda c=client, k=key: c.xinfo_groups(k))}  # type: ignore[misc]
        return {
            "streams": str(len(keys)),
            "masters": str(len({placement.address_of(key) for key in keys})),
            "length": str(lengths),
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
        for client in self._clients.values():
            client.close()
        self._clients.clear()


def connect(address: str, security: Security | None) -> redis.Redis:
    host, port = split_address(address)
    secure: dict[str, Any] = {}
    if security is not None:
        password = None if security.password is None else secret(security.password)
        secure = {"username": security.user, "password": password}
        if security.tls:
            secure |= {"ssl": True, "ssl_ca_certs": security.ca_file, "ssl_cert_reqs": "required"}
    return redis.Redis(
        host=host, port=port, decode_responses=True, protocol=2, socket_timeout=ANSWER_S, socket_connect_timeout=ANSWER_S,
        client_name="brokerlab-admin", **secure,
    )  # fmt: skip


def _told(ask: Callable[[], Any]) -> Any:
    """The library's answer, its errors as ours."""
    try:
        return ask()
    except redis.RedisError as e:
        raise BrokerError(f"{type(e).__name__}: {e}") from e
    except OSError as e:
        raise BrokerError(f"the server does not answer: {e}") from e
