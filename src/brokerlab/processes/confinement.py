"""What the server processes of a cluster are held to: given cores, a share of a processor, a cap on disk writes."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from brokerlab.lifeline import die_with_parent
from brokerlab.machine.cgroups import Group, Limits
from brokerlab.model.plan import MachinePlan


class Confinement:
    """Of one cluster, with a group of its own for each server process: what such a process starts is in it too."""

    def __init__(self, machine: MachinePlan, directory: Path) -> None:
        """`directory` holds the data: writes to its disk are what is capped."""
        self._cores = frozenset(machine.node_cores)
        self._limits = Limits(machine.cpu_share_per_node, machine.disk_write_bytes_per_s)
        self._directory = directory
        self._groups: dict[str, Group] = {}

    def entering(self, name: str) -> Callable[[], None]:
        """What the process of this name does between fork and exec."""
        if self._limits.kinds() and name not in self._groups:
            self._directory.mkdir(parents=True, exist_ok=True)
            self._groups[name] = Group(name, self._limits, self._directory)
        group = self._groups.get(name)

        def enter() -> None:
            die_with_parent()
            if self._cores:
                os.sched_setaffinity(0, self._cores)
            if group is not None:
                group.enter()

        return enter

    def end(self) -> None:
        """Once the processes have ended. Raises OSError where a group cannot be removed. Idempotent."""
        while self._groups:
            name, group = next(iter(self._groups.items()))
            group.remove()
            del self._groups[name]
