"""Streams and groups, and the durability that follows from what the servers report."""

from __future__ import annotations

import contextlib
import time
from typing import Any

from brokerlab.brokers.contract import ComputedDurability
from brokerlab.brokers.kit.durability import level_of
from brokerlab.brokers.kit.fine import fine_if
from brokerlab.brokers.kit.http_reader import as_text, read_json
from brokerlab.brokers.kit.wire import option_list
from brokerlab.brokers.nats.link import JetStreamError, Link, broker_name, subject_of
from brokerlab.brokers.nats.settings import NatsSettings, settings_of
from brokerlab.model.plan import CellPlan, Endpoint

STREAM_NOT_FOUND = 10059
_NOT_KNOWN = "unknown: no monitoring address; counted as not always"
# Limits that a server takes from the free disk and memory where none are set: they differ from start to start.
_FROM_THE_MACHINE = {"max_storage", "max_memory"}


def stream_config(destination: str, partitions: int, settings: NatsSettings) -> dict[str, Any]:
    """A stream that keeps everything and refuses rather than drops when full."""
    return {
        "name": broker_name(destination),
        "subjects": [subject_of(destination, p) for p in range(partitions)],
        "retention": "limits",
        "discard": "new",
        "storage": settings.storage,
        "num_replicas": settings.replicas,
        "max_consumers": -1,
        "max_msgs": -1,
        "max_bytes": -1,
        "max_age": 0,
    }


def consumer_config(group: str, policy: str, ack_wait_ns: int) -> dict[str, Any]:
    """A durable pull consumer from the first message on, without a limit on what may be unacknowledged."""
    config: dict[str, Any] = {
        "durable_name": group,
        "deliver_policy": "all",
        "ack_policy": policy,
        "replay_policy": "instant",
        "max_deliver": -1,
        "max_waiting": 512,
    }
    if policy != "none":
        config |= {"ack_wait": ack_wait_ns, "max_ack_pending": -1}
    return config


class NatsAdmin:
    """See brokers.contract.Admin."""

    def __init__(self, endpoint: Endpoint, cell: CellPlan) -> None:
        self._settings = settings_of(cell)
        self._monitoring = option_list(endpoint, "monitoring")
        self._link = Link(endpoint, "brokerlab-admin")

    def create(self, destinations: tuple[str, ...], partitions: int, groups: tuple[str, ...]) -> None:
        for destination in destinations:
            stream = broker_name(destination)
            self._link.api(f"STREAM.CREATE.{stream}", stream_config(destination, partitions, self._settings))
            for group in groups:
                config = consumer_config(broker_name(group), self._settings.ack_policy, self._settings.ack_wait_ns)
                request = {"stream_name": stream, "config": config}
                self._link.api(f"CONSUMER.DURABLE.CREATE.{stream}.{broker_name(group)}", request)

    def delete(self, destinations: tuple[str, ...], groups: tuple[str, ...]) -> None:  # noqa: ARG002 - end with their stream
        for destination in destinations:
            with _absent_is_fine():
                self._link.api(f"STREAM.DELETE.{broker_name(destination)}")

    def effective_settings(self, destinations: tuple[str, ...]) -> dict[str, dict[str, str]]:
        found = {}
        for url in self._monitoring:
            varz = read_json(f"{url}/varz")
            jetstream = varz.get("jetstream", {}).get("config", {})
            server = {"version": varz.get("version"), "max_payload": varz.get("max_payload")} | jetstream
            server = {name: value for name, value in server.items() if name not in _FROM_THE_MACHINE}
            found[f"server:{varz.get('server_name')}"] = {k: as_text(v) for k, v in server.items()}
        for destination in destinations:
            with _absent_is_fine():
                info = self._link.api(f"STREAM.INFO.{broker_name(destination)}")
                found[destination] = {k: as_text(v) for k, v in info["config"].items()}
        return found

    def durability(self, destinations: tuple[str, ...]) -> ComputedDurability:
        """The weakest destination and the weakest server decide."""
        settings = self.effective_settings(destinations)
        streams = [settings[d] for d in destinations]
        servers = [values for subject, values in settings.items() if subject.startswith("server:")]
        replicas = min(int(s["num_replicas"]) for s in streams)
        storage = "file" if all(s["storage"] == "file" for s in streams) else "memory"
        # A stream can be set to acknowledge before it writes, whatever the server's sync_interval says.
        persist = "async" if any(s.get("persist_mode") == "async" for s in streams) else "default"
        always = bool(servers) and all(s.get("sync_always") == "true" for s in servers)
        intervals = sorted({f"{int(s['sync_interval']) / 1e9:g}s" for s in servers if "sync_interval" in s})
        sync_interval = "always" if always else ", ".join(intervals) or _NOT_KNOWN
        because = {
            "num_replicas": str(replicas),
            "storage": storage,
            "persist_mode": persist,
            "sync_interval": sync_interval,
        }
        fsynced = storage == "file" and persist != "async" and always
        return ComputedDurability(level_of(replicated=replicas > 1, fsynced=fsynced), because)

    def close(self) -> None:
        self._link.close(time.monotonic_ns() + 5_000_000_000)


def _absent_is_fine() -> contextlib.AbstractContextManager[None]:
    return fine_if(JetStreamError, lambda e: e.err_code == STREAM_NOT_FOUND)
