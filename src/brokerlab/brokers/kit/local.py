"""What clusters do alike whose nodes are one child process each."""

from __future__ import annotations

import shutil
from pathlib import Path

from brokerlab.processes.process import ServerProcess


class LocalCluster:
    """A part of brokers.contract.Cluster and CanLoseANode."""

    _directory: Path  # with all data
    _processes: list[ServerProcess]

    def dead_nodes(self) -> tuple[str, ...]:
        return tuple(p.name for p in self._processes if p.died())

    def kill_node(self, name: str) -> None:
        {p.name: p for p in self._processes}[name].kill()

    def log_tail(self, lines: int = 20) -> str:
        return "\n".join(f"[{p.name}]\n{p.log_tail(lines)}" for p in self._processes)

    def stop(self) -> None:
        for process in self._processes:
            process.stop()

    def clean(self) -> None:
        shutil.rmtree(self._directory, ignore_errors=True)
