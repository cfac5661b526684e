"""The capped links of a cluster: one process in front of each node that clients connect to."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from brokerlab.brokers.contract import LinkInfo
from brokerlab.model.plan import MachinePlan
from brokerlab.processes.ports import HeldPorts
from brokerlab.processes.process import ServerProcess


class CappedLinks:
    """None at all where the cell asks for no cap: then clients connect to the nodes themselves."""

    def __init__(self, machine: MachinePlan, directory: Path, logs: Path) -> None:
        self._bytes_per_s = machine.link_bytes_per_s
        self._directory = directory
        self._logs = logs
        self._held: list[HeldPorts] = []
        self._ports: dict[int, int] = {}
        self.processes: list[ServerProcess] = []

    def port_for(self, node_port: int) -> int:
        """Where clients connect to the node that listens there. The first question starts its link."""
        if self._bytes_per_s is None:
            return node_port
        if node_port not in self._ports:
            held = HeldPorts(1)
            self._held.append(held)
            self._ports[node_port] = held.numbers[0]
            self._start(node_port)
        return self._ports[node_port]

    def _start(self, node_port: int) -> None:
        name = f"link-{len(self.processes) + 1}"
        command = [sys.executable, "-m", "brokerlab.machine.link", "--listen", str(self._ports[node_port])]
        command += [
            "--node",
            str(node_port),
            "--bytes-per-s",
            str(self._bytes_per_s),
            "--counts",
            str(self._counts(name)),
        ]
        process = ServerProcess(name, command, self._logs / f"{name}.log", self._directory / "links", os.environ)
        self.processes.append(process)
        process.start()

    def _counts(self, name: str) -> Path:
        return self._directory / "links" / f"{name}.counts"

    def infos(self) -> tuple[LinkInfo, ...]:
        return tuple(LinkInfo(p.name, p.pid, str(self._counts(p.name))) for p in self.processes)

    def end(self) -> None:
        """Idempotent."""
        for process in self.processes:
            process.stop(1.0)
