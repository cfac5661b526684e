"""The server as a child process."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import ClassVar

import numpy as np

from brokerlab.brokers.kit.local import LocalCluster, not_yet
from brokerlab.brokers.memory.connection import MemoryLink, ask
from brokerlab.brokers.memory.protocol import PUBLISH, PUBLISH_HEAD, SETTLED, frame
from brokerlab.brokers.memory.settings import size_arguments
from brokerlab.model.plan import CellPlan

READY = "_brokerlab_ready"


class MemoryCluster(LocalCluster):
    """One node. See brokers.contract.Cluster."""

    figures = "control"
    module: ClassVar[str] = "brokerlab.brokers.memory.server"

    def __init__(self, cell: CellPlan, programs: None, directory: Path, logs: Path) -> None:  # noqa: ARG002 - it ships
        super().__init__(cell, directory, logs, ports=1)
        self._client_ports = self._held.numbers
        command = [sys.executable, "-m", self.module, "--port", str(self._client_ports[0]), *self.arguments(cell)]
        self._processes = [self._server(f"{cell.broker}-1", command, os.environ)]

    @staticmethod
    def arguments(cell: CellPlan) -> list[str]:
        return size_arguments(cell.broker_settings)

    def wait_ready(self, deadline_mono_ns: int) -> None:
        self._wait("an acknowledged write", self._acknowledges, deadline_mono_ns, every_s=0.02)

    def _acknowledges(self) -> bool:
        endpoint = self.endpoint()
        ask(endpoint, {"do": "create", "destinations": [READY], "partitions": 1, "groups": []})
        with not_yet():
            link = MemoryLink.open(endpoint, "ready")
            link.subscribe((READY,), 1)
        settled: list[bytes] = []
        link.on_frame = lambda kind, body: settled.append(body) if kind == SETTLED else None
        link.write(frame(PUBLISH, PUBLISH_HEAD.pack(0, 1), np.array([1, 0], "<i4").tobytes(), b"?"))
        link.wait(1.0)
        link.pump()
        link.abandon()
        ask(endpoint, {"do": "delete", "destinations": [READY], "groups": []})
        return bool(settled)
