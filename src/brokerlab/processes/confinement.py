"""What the server processes of a cluster are held to: given cores, a share of a processor, a cap on disk writes,
memory, a floor under the time of an fsync."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from brokerlab.lifeline import die_with_parent
from brokerlab.machine.cgroups import Group, Limits
from brokerlab.machine.fsync_floor import floored
from brokerlab.model.plan import MachinePlan


class Confinement:
    """Of one cluster, with a group of its own for each server process: what such a process starts is in it too."""

    def __init__(self, machine: MachinePlan, directory: Path) -> None:
        """`directory` holds the data: writes to its disk are what is capped."""
        self._cores = frozenset(machine.node_cores)
        self._limits = Limits(
            machine.cpu_share_per_node, machine.disk_write_bytes_per_s, machine.memory_limit_bytes_per_node
        )
        self._fsync_floor_ns = machine.fsync_floor_ns
        self._directory = directory
        self._groups: dict[str, Group] = {}

    def environment(self, env: Mapping[str, str], command: Sequence[str]) -> dict[str, str]:
        """Of a server process that runs this command. Raises MachineError where what was asked is not possible with it."""
        return dict(env) if self._fsync_floor_ns is None else floored(env, command, self._fsync_floor_ns)

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
