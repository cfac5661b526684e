"""Processes: CPU, memory, bytes to and from disk, threads, open files; and whose CPU is not ours at all."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable
from pathlib import Path

from brokerlab.brokers.contract import Reading
from brokerlab.model import subjects
from brokerlab.model.watched_here import HOST, PROCESS

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def cpu_time_ns(pid: int) -> int:
    """CPU time of all threads of a process so far, to the nanosecond; OSError when it is gone.

    The clock number is Linux's encoding of "scheduler clock of process pid" (what clock_getcpuclockid returns):
    one system call, against 10 ms of resolution in /proc/<pid>/stat.
    """
    return time.clock_gettime_ns(((~pid) << 3) | 2)


def _stat_fields(pid: int) -> list[str]:
    """The fields of /proc/<pid>/stat after the name, which may itself hold spaces and brackets: state is [0]."""
    with open(f"/proc/{pid}/stat", "rb") as f:  # noqa: PTH123 - called for every process every second
        return f.read().rpartition(b")")[2].decode().split()


def _children(pid: int) -> list[int]:
    """What the main thread of a process started. (Looking at all threads of a JVM would cost too much.)"""
    try:
        with open(f"/proc/{pid}/task/{pid}/children", "rb") as f:  # noqa: PTH123 - called every second
            return [int(child) for child in f.read().split()]
    except OSError:
        return []


class ProcessProbe:
    """One process, known by pid and start time (a pid that is used again is not mistaken for it), together with the
    processes it started: some servers serve every connection with a child. What a child used before it ended counts as
    far as it was seen. Memory that processes share counts once for each of them."""

    def __init__(self, name: str, pid: int) -> None:
        self.subject = f"process:{name}"
        self.pid = pid
        self._started: str | None = None
        self._cpu_ns: dict[int, int] = {}
        self._disk: dict[int, tuple[int, int]] = {}
        self._disk_of_the_ended = (0, 0)
        self._at_ns = 0

    def follow(self, pid: int) -> None:
        """The process was started again, as this one: what its predecessor read and wrote still counts."""
        self.pid, self._started = pid, None

    def read(self, now_ns: int) -> list[Reading]:
        """Readings now; nothing once the process is gone. cpu_cores needs a call before this one."""
        try:
            fields = _stat_fields(self.pid)
        except OSError:
            return []
        started = fields[19]
        if fields[0] == "Z" or (self._started is not None and started != self._started):
            return []
        seen = {self.pid: fields}
        for child in _children(self.pid):
            with contextlib.suppress(OSError):
                seen[child] = _stat_fields(child)
        readings = [
            Reading.of(PROCESS["rss_bytes"], self.subject, sum(int(f[21]) for f in seen.values()) * _PAGE_BYTES),
            Reading.of(PROCESS["threads"], self.subject, sum(int(f[17]) for f in seen.values())),
            *self._files(seen),
        ]
        cores = self._cores(seen, now_ns)
        if self._started is not None and cores is not None:
            readings.append(Reading.of(PROCESS["cpu_cores"], self.subject, cores))
        self._started = started
        return readings

    def _cores(self, pids: Iterable[int], now_ns: int) -> float | None:
        used: dict[int, int] = {}
        for pid in pids:
            with contextlib.suppress(OSError):
                used[pid] = cpu_time_ns(pid)
        before, elapsed_ns = self._cpu_ns, now_ns - self._at_ns
        self._cpu_ns, self._at_ns = used, now_ns
        if elapsed_ns <= 0:
            return None
        return sum(ns - before.get(pid, 0) for pid, ns in used.items()) / elapsed_ns

    def _files(self, pids: Iterable[int]) -> list[Reading]:
        """Disk traffic and open files; another user's process shows neither."""
        disk: dict[int, tuple[int, int]] = {}
        open_files = 0
        for pid in pids:
            try:
                open_files += os.stat(f"/proc/{pid}/fd").st_size or len(os.listdir(f"/proc/{pid}/fd"))  # noqa: PTH116, PTH208
                text = Path(f"/proc/{pid}/io").read_text()
            except OSError:
                continue
            io = dict(line.split(": ") for line in text.splitlines())
            disk[pid] = int(io["read_bytes"]), int(io["write_bytes"])
        if not disk:
            return []
        ended = [self._disk_of_the_ended, *(d for pid, d in self._disk.items() if pid not in disk)]
        self._disk_of_the_ended = sum(r for r, _ in ended), sum(w for _, w in ended)
        self._disk = disk
        read, written = (sum(d[k] for d in (self._disk_of_the_ended, *disk.values())) for k in (0, 1))
        return [
            Reading.of(PROCESS["open_files"], self.subject, open_files),
            Reading.of(PROCESS["read_bytes_total"], self.subject, read),
            Reading.of(PROCESS["write_bytes_total"], self.subject, written),
        ]


def descendants(roots: Iterable[int]) -> set[int]:
    """These processes and everything below them, by the parents that /proc names."""
    children: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):  # noqa: PTH208
        if entry.isdigit():
            try:
                parent = int(_stat_fields(int(entry))[1])
            except OSError:
                continue
            children.setdefault(parent, []).append(int(entry))
    found: set[int] = set()
    waiting = list(roots)
    while waiting:
        pid = waiting.pop()
        if pid not in found:
            found.add(pid)
            waiting.extend(children.get(pid, ()))
    return found


def _kernel_threads() -> tuple[int, ...]:
    """The parent of all kernel threads; None where a container does not show it."""
    try:
        name = Path("/proc/2/comm").read_text()
    except OSError:
        return ()
    return (2,) if name == "kthreadd\n" else ()


class ForeignCpu:
    """Busy CPU of the host that no process of this run explains: the noisy neighbour.

    Known are the given processes (brokers, agents, this probe, the runner), everything they started, and the kernel's
    own threads: those that write a broker's pages to disk work for us. The tree is searched every `search_every` calls,
    because that reads all of /proc. Not clipped at zero: the host's figure is coarse (10 ms), so values a little below zero
    are as likely as values a little above, and their mean is right.
    """

    def __init__(self, roots: Iterable[int], search_every: int = 5) -> None:
        self._roots = (*roots, *_kernel_threads())
        self._search_every = search_every
        self._calls = 0
        self._known: set[int] = set()
        self._cpu_ns: dict[int, int] = {}
        self._at_ns = 0

    def add(self, root: int) -> None:
        """A process that was just started, which is known from now on."""
        self._roots = (*self._roots, root)
        self._known.add(root)
        self._cpu_ns.setdefault(root, 0)

    def known_cores(self, now_ns: int) -> float | None:
        """Cores used by the known processes since the last call; None the first time."""
        if self._calls % self._search_every == 0:
            self._known = descendants(self._roots)
        self._calls += 1
        now: dict[int, int] = {}
        for pid in self._known:
            try:
                now[pid] = cpu_time_ns(pid)
            except OSError:
                continue
        before, elapsed_ns = self._cpu_ns, now_ns - self._at_ns
        self._cpu_ns, self._at_ns = now, now_ns
        if not before or elapsed_ns <= 0:
            return None
        return sum(max(used - before[pid], 0) for pid, used in now.items() if pid in before) / elapsed_ns

    def read(self, now_ns: int, busy_cores: float | None) -> list[Reading]:
        known = self.known_cores(now_ns)
        if known is None or busy_cores is None:
            return []
        return [Reading.of(HOST["cpu_foreign_cores"], subjects.HOST, busy_cores - known)]
