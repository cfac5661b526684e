"""Exchanges, queues and streams, and the durability that follows from what the servers report."""

from __future__ import annotations

import time
from typing import Any

from pika import spec

from brokerlab.brokers.contract import ComputedDurability
from brokerlab.brokers.kit.http_reader import as_text
from brokerlab.brokers.rabbitmq.amqp import AmqpLink
from brokerlab.brokers.rabbitmq.management import Management
from brokerlab.brokers.rabbitmq.names import DEFAULT_GROUP, belongs_to, group_queue, stream_name
from brokerlab.brokers.rabbitmq.settings import (
    client_setting,
    confirm_window,
    confirms,
    confirms_words,
    level_of,
    settings_of,
)
from brokerlab.brokers.rabbitmq.topology import declare_exchange, declare_group, declare_streams
from brokerlab.errors import BrokerError
from brokerlab.model.plan import CellPlan, Durability, Endpoint

_ONLINE_S = 60.0
_NOT_KNOWN = "unknown: no management address; counted as one classic queue"
_OF_NODE = ("mem_limit", "disk_free_limit", "fd_total", "proc_total", "run_queue", "processors", "being_drained")
_OF_QUEUE = ("type", "durable", "auto_delete", "exclusive", "state", "leader", "node", "members", "online", "policy")


class RabbitAdmin:
    """See brokers.contract.Admin. Connects for each request: an idle connection would have to be kept alive."""

    def __init__(self, endpoint: Endpoint, cell: CellPlan) -> None:
        self._endpoint = endpoint
        self._cell = cell
        self._settings = settings_of(cell)
        self._management = Management(endpoint)

    def create(self, destinations: tuple[str, ...], partitions: int, groups: tuple[str, ...]) -> None:
        made: list[str] = []
        with AmqpLink.session(self._endpoint) as link:
            for destination in destinations:
                if self._settings.kind == "stream":
                    made += declare_streams(link, destination, partitions, self._settings)
                    continue
                declare_exchange(link, destination)
                for group in groups or (DEFAULT_GROUP,):
                    made += declare_group(link, destination, group, partitions, self._settings)
        self._wait_online(made)

    def _wait_online(self, queues: list[str]) -> None:
        """A queue that was declared may still lack members: wait for all of them."""
        if not self._management.known:
            return
        until = time.monotonic() + _ONLINE_S
        for queue in queues:
            while len(_online(self._info(queue) or {})) < self._settings.members:
                if time.monotonic() >= until:
                    raise BrokerError(f"{queue}: not all {self._settings.members} members are online")
                time.sleep(0.1)

    def delete(self, destinations: tuple[str, ...], groups: tuple[str, ...]) -> None:
        """RabbitMQ accepts the deletion of what does not exist."""
        with AmqpLink.session(self._endpoint) as link:
            for destination in destinations:
                for queue in self._queues_to_delete(destination, groups):
                    link.call(spec.Queue.Delete(queue=queue))
                if self._settings.kind != "stream":
                    link.call(spec.Exchange.Delete(exchange=destination))

    def _queues_to_delete(self, destination: str, groups: tuple[str, ...]) -> list[str]:
        if self._management.known:
            return self.queues(destination)
        numbers = range(self._cell.partitions)
        if self._settings.kind == "stream":
            return [stream_name(destination, p) for p in numbers]
        return [group_queue(destination, group, p) for group in (*groups, DEFAULT_GROUP) for p in numbers]

    def queues(self, destination: str) -> list[str]:
        """Names of a destination's queues or streams, as the broker lists them."""
        found = self._ask("queues", "/") or []
        return sorted(q["name"] for q in found if belongs_to(q["name"], destination))

    def leader(self, queue: str) -> str | None:
        """The node that takes writes for a queue."""
        info = self._info(queue) or {}
        leader = info.get("leader") or info.get("node")
        return str(leader) if leader else None

    def _ask(self, *path: str) -> Any:
        try:
            return self._management.get(*path)
        except OSError as e:
            raise BrokerError(f"RabbitMQ's management address does not answer: {e}") from e

    def _info(self, queue: str) -> dict[str, Any] | None:
        found: dict[str, Any] | None = self._ask("queues", "/", queue)
        return found

    def effective_settings(self, destinations: tuple[str, ...]) -> dict[str, dict[str, str]]:
        found = {"clients": self._of_clients()}
        if not self._management.known:
            return found
        overview = self._ask("overview") or {}
        found["cluster"] = {k: as_text(overview[k]) for k in ("rabbitmq_version", "erlang_version") if k in overview}
        for node in self._ask("nodes") or ():
            found[f"server:{node['name']}"] = {k: as_text(node[k]) for k in _OF_NODE if k in node}
        for destination in destinations:
            for queue in self.queues(destination):
                info = self._info(queue)
                if info is not None:
                    values = {k: as_text(info[k]) for k in _OF_QUEUE if k in info}
                    values |= {k: as_text(v) for k, v in info.get("arguments", {}).items()}
                    found[f"queue:{queue}"] = values
        return found

    def _of_clients(self) -> dict[str, str]:
        """What producers and consumers ask for. A latency means little without the confirm window."""
        reported = confirms_words(self._cell) | {"delivery mode": "2 (persistent)"}
        if confirms(self._cell):
            reported["confirm window"] = str(confirm_window(self._cell.producers))
        name = "credit" if self._settings.kind == "stream" else "prefetch"
        return reported | {name: str(client_setting(self._cell, name))}

    def durability(self, destinations: tuple[str, ...]) -> ComputedDurability:
        """The weakest queue decides."""
        because = confirms_words(self._cell) | {"delivery mode": "2 (persistent)"}
        if not self._management.known:
            with AmqpLink.session(self._endpoint):
                return ComputedDurability(Durability.L4, because | {"x-queue-type": _NOT_KNOWN})
        infos = [info for d in destinations for q in self.queues(d) if (info := self._info(q)) is not None]
        if not infos:
            raise BrokerError(f"no queues of {', '.join(destinations)}")
        level, info = max(((_level(i), i) for i in infos), key=lambda pair: pair[0])
        return ComputedDurability(
            level,
            because
            | {
                "x-queue-type": str(info.get("type")),
                "durable": as_text(info.get("durable")),
                "members": ", ".join(_members(info)),
                "members online": str(len(_online(info))),
                "fsync before confirm": "yes (Raft log)" if info.get("type") == "quorum" else "no",
            },
        )

    def close(self) -> None:
        """Nothing stays open between requests."""


def _level(info: dict[str, Any]) -> Durability:
    return level_of(str(info.get("type")), len(_online(info)), durable=bool(info.get("durable")))


def _members(info: dict[str, Any]) -> list[str]:
    return sorted(info.get("members") or ([info["node"]] if info.get("node") else []))


def _online(info: dict[str, Any]) -> list[str]:
    """Members that run now; a classic queue's one member is its node."""
    if info.get("type") == "classic":
        return _members(info) if info.get("state") in (None, "running") else []
    return sorted(info.get("online") or [])
