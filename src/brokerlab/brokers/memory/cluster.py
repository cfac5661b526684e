"""The server as a child process, and what can be asked of it."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from brokerlab.brokers.contract import ComputedDurability, NodeInfo, Reading
from brokerlab.brokers.memory.connection import ask, connect
from brokerlab.brokers.memory.protocol import PUBLISH, PUBLISH_HEAD, SETTLED, frame
from brokerlab.errors import BrokerError
from brokerlab.model.plan import Durability, Endpoint
from brokerlab.processes.ports import HeldPorts
from brokerlab.processes.process import ServerProcess
from brokerlab.processes.readiness import wait_until

READY = "_brokerlab_ready"
_UNITS = {
    "connections": "1",
    "in_messages_total": "1",
    "out_messages_total": "1",
    "in_bytes_total": "B",
    "out_bytes_total": "B",
    "held_messages": "1",
    "held_bytes": "B",
}


class MemoryCluster:
    """One node. See brokers.contract.Cluster."""

    def __init__(self, name: str, module: str, arguments: Sequence[str], directory: Path, logs: Path) -> None:
        self._held = HeldPorts(1)
        self._port = self._held.numbers[0]
        self._directory = directory
        command = [sys.executable, "-m", module, "--port", str(self._port), *arguments]
        self._process = ServerProcess(f"{name}-1", command, logs / f"{name}-1.log", directory, os.environ)

    def start(self) -> None:
        self._process.start()

    def wait_ready(self, deadline_mono_ns: int) -> None:
        wait_until(
            "an acknowledged write",
            self._acknowledges,
            deadline_mono_ns,
            died=self.dead_nodes,
            log_tail=self.log_tail,
            every_s=0.02,
        )

    def _acknowledges(self) -> bool:
        endpoint = self.endpoint()
        ask(endpoint, {"do": "create", "destinations": [READY], "partitions": 1, "groups": []})
        try:
            connection = connect(endpoint, (READY,), 1)
            columns = np.array([1, 0], "<i4").tobytes()
            connection.write(frame(PUBLISH, PUBLISH_HEAD.pack(0, 1), columns, b"?"))
            connection.wait(1.0)
            settled = any(kind == SETTLED for kind, _ in connection.frames())
            connection.close()
        except BrokerError as e:
            raise OSError(str(e)) from e
        ask(endpoint, {"do": "delete", "destinations": [READY], "groups": []})
        return settled

    def endpoint(self) -> Endpoint:
        return Endpoint(addresses=(f"127.0.0.1:{self._port}",))

    def nodes(self) -> tuple[NodeInfo, ...]:
        return (NodeInfo(self._process.name, self._process.pid, {"control": f"127.0.0.1:{self._port}"}),)

    def dead_nodes(self) -> tuple[str, ...]:
        return (self._process.name,) if self._process.died() else ()

    def log_tail(self, lines: int = 20) -> str:
        return self._process.log_tail(lines)

    def stop(self) -> None:
        self._process.stop()

    def clean(self) -> None:
        shutil.rmtree(self._directory, ignore_errors=True)


class MemoryAdmin:
    """See brokers.contract.Admin. Each request has a connection of its own."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint

    def create(self, destinations: tuple[str, ...], partitions: int, groups: tuple[str, ...]) -> None:
        self._ask({"do": "create", "destinations": destinations, "partitions": partitions, "groups": groups})

    def delete(self, destinations: tuple[str, ...], groups: tuple[str, ...]) -> None:
        self._ask({"do": "delete", "destinations": destinations, "groups": groups})

    def effective_settings(self, destinations: tuple[str, ...]) -> dict[str, dict[str, str]]:
        answer = self._ask({"do": "describe", "destinations": destinations})
        return {"server": answer["server"], **answer["destinations"]}

    def durability(self, destinations: tuple[str, ...]) -> ComputedDurability:
        server = self.effective_settings(destinations)["server"]
        because = {name: server[name] for name in ("storage", "replicas", "fsync")}
        if because != {"storage": "memory", "replicas": "1", "fsync": "never"}:
            raise BrokerError(f"a server of another kind: {because}")
        return ComputedDurability(Durability.L4, because)

    def _ask(self, request: dict[str, object]) -> dict[str, Any]:
        try:
            return ask(self._endpoint, request)
        except OSError as e:
            raise BrokerError(f"{self._endpoint.addresses[0]} does not answer: {e}") from e

    def close(self) -> None:
        """Nothing is held between requests."""


class MemoryProbe:
    """See brokers.contract.BrokerProbe."""

    def __init__(self, nodes: tuple[NodeInfo, ...]) -> None:
        self._nodes = nodes

    def read(self) -> list[Reading]:
        readings: list[Reading] = []
        for node in self._nodes:
            try:
                answer = ask(Endpoint(addresses=(node.urls["control"],)), {"do": "statistics"})
            except (OSError, BrokerError):
                continue
            readings += [Reading(f"broker:{node.name}", m, float(answer[m]), unit) for m, unit in _UNITS.items()]
        return readings
