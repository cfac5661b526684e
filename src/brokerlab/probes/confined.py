"""Whether processes are held to what they were given: threads beside their cores, shares of a processor, links."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from brokerlab.brokers.contract import Reading
from brokerlab.machine.cgroups import cpu_share_of, group_of, memory_limit_of, memory_used_bytes, throttled_ms
from brokerlab.machine.link import passed_bytes
from brokerlab.model.watched_here import PROCESS
from brokerlab.probes.process import descendants


class PlacementProbe:
    """Every thread of a process and of what it started, against the cores they were given. What belongs to the process
    is searched every `search_every` calls, because that reads all of /proc."""

    def __init__(self, name: str, pid: int, cores: tuple[int, ...], search_every: int = 5) -> None:
        self.subject = f"process:{name}"
        self._pid = pid
        self._cores = frozenset(cores)
        self._search_every = search_every
        self._calls = 0
        self._family: set[int] = set()

    def follow(self, pid: int) -> None:
        """The process was started again, as this one."""
        self._pid, self._calls = pid, 0

    def read(self) -> list[Reading]:
        """How many threads may run elsewhere; nothing once the process is gone."""
        if self._calls % self._search_every == 0:
            self._family = descendants([self._pid])
        self._calls += 1
        threads = outside = 0
        for pid in self._family:
            with contextlib.suppress(OSError):
                for thread in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208 - called every second
                    with contextlib.suppress(OSError):  # it has just ended
                        outside += not self._cores.issuperset(os.sched_getaffinity(int(thread)))
                        threads += 1
        return [Reading.of(PROCESS["threads_outside_placement"], self.subject, outside)] if threads else []


class ShareProbe:
    """A node's share of a processor, and how long its threads have waited for it."""

    def __init__(self, name: str, pid: int) -> None:
        self.subject = f"process:{name}"
        self._pid = pid
        self._group: Path | None = None

    def read(self) -> list[Reading]:
        self._group = self._group or group_of(self._pid, "cpu")
        if self._group is None:
            return []
        share = cpu_share_of(self._group)
        waited = Reading.of(PROCESS["cpu_throttled_ms_total"], self.subject, throttled_ms(self._group))
        return [waited] if share is None else [Reading.of(PROCESS["cpu_limit_cores"], self.subject, share), waited]


class MemoryProbe:
    """What a node with a memory limit holds, and the limit."""

    def __init__(self, name: str, pid: int) -> None:
        self.subject = f"process:{name}"
        self._pid = pid
        self._group: Path | None = None

    def read(self) -> list[Reading]:
        self._group = self._group or group_of(self._pid, "memory")
        if self._group is None or (limit := memory_limit_of(self._group)) is None:
            return []
        return [
            Reading.of(PROCESS["group_memory_bytes"], self.subject, memory_used_bytes(self._group)),
            Reading.of(PROCESS["group_memory_limit_bytes"], self.subject, limit),
        ]


class LinkProbe:
    """What a capped link has carried, headers and answers included, to its node and from it."""

    def __init__(self, name: str, counts: str) -> None:
        self.subject = f"process:{name}"
        self._counts = Path(counts)

    def read(self) -> list[Reading]:
        to_node, from_node = passed_bytes(self._counts)
        return [
            Reading.of(PROCESS["link_to_node_bytes_total"], self.subject, to_node),
            Reading.of(PROCESS["link_from_node_bytes_total"], self.subject, from_node),
        ]
