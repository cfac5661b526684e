"""All probes of one execution, read on an interval. One that fails is counted and never stops the others."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from brokerlab.brokers.contract import BrokerProbe, Reading
from brokerlab.model.environment import ClockPair
from brokerlab.probes import host
from brokerlab.probes.confined import LinkProbe, MemoryProbe, PlacementProbe, ShareProbe
from brokerlab.probes.endpoint import listening_processes
from brokerlab.probes.plan import ProbePlan, RestartedNode, WatchedAgent, WatchedNode
from brokerlab.probes.process import ForeignCpu, ProcessProbe
from brokerlab.probes.storage import StoredBytes


@dataclass(frozen=True)
class Sample:
    """Readings taken together at one time."""

    at_mono_ns: int
    readings: list[Reading]


class LocalProbes:
    """Host and processes: everything that answers within microseconds, because the kernel does."""

    def __init__(self, plan: ProbePlan, runner_pid: int) -> None:
        own = os.getpid()
        placed: list[WatchedNode | WatchedAgent] = [*plan.nodes, *plan.agents]
        watched = [(w.name, w.pid) for w in placed] + [(link.name, link.pid) for link in plan.links]
        watched += [(f"{plan.broker}-{i}", pid) for i, pid in enumerate(listening_processes(plan.addresses), 1)]
        self._directory = Path(plan.directory)
        self._cpu = host.CpuTimes()
        self._processes = [ProcessProbe(name, pid) for name, pid in [*watched, ("probe", own)]]
        self._placed = [PlacementProbe(w.name, w.pid, w.cores) for w in placed if w.cores]
        self._links = [LinkProbe(link.name, link.counts) for link in plan.links]
        self._limited = [ShareProbe(node.name, node.pid) for node in plan.nodes if node.limited]
        self._in_memory = [MemoryProbe(node.name, node.pid) for node in plan.nodes if node.memory_limited]
        # A runner that has gone already leaves us to process 1, which is the parent of every orphan: not ours.
        runner = [runner_pid] if runner_pid > 1 else []
        self._foreign = ForeignCpu([*(pid for _, pid in watched), own, *runner])
        self._stored = StoredBytes(Path(plan.data_directory)) if plan.data_directory else None
        self.failures: dict[str, int] = {}

    def read(self, now_ns: int) -> Sample:
        readings: list[Reading] = []
        self._cpu.busy_cores = None
        for name, probe in self._probes(now_ns):
            try:
                readings.extend(probe())
            except (OSError, ValueError, KeyError, IndexError):  # a /proc file that is missing or looks different here
                self.failures[name] = self.failures.get(name, 0) + 1
        return Sample(now_ns, readings)

    def follow(self, node: RestartedNode) -> None:
        """Its limits are those of its name (processes.confinement), so they are watched on as they were."""
        probes: list[ProcessProbe | PlacementProbe] = [*self._processes, *self._placed]
        for probe in probes:
            if probe.subject == f"process:{node.name}":
                probe.follow(node.pid)
        self._foreign.add(node.pid)

    def last(self, now_ns: int) -> Sample:
        """What is stored at the end, however long it takes to find out."""
        return Sample(now_ns, [] if self._stored is None else self._stored.read_now(now_ns))

    def _probes(self, now_ns: int) -> list[tuple[str, Callable[[], list[Reading]]]]:
        return [
            ("cpu", lambda: self._cpu.read(now_ns)),
            ("foreign cpu", lambda: self._foreign.read(now_ns, self._cpu.busy_cores)),
            ("load", host.read_load),
            ("pressure", host.read_pressure),
            ("memory", host.read_memory),
            ("disk", lambda: host.read_disk(self._directory)),
            ("network", host.read_network),
            *((p.subject, lambda p=p: p.read(now_ns)) for p in self._processes),
            *([("stored bytes", lambda s=self._stored: s.read(now_ns))] if self._stored is not None else []),
            *((f"placement of {p.subject}", p.read) for p in self._placed),
            *((f"share of {p.subject}", p.read) for p in self._limited),
            *((f"memory of {p.subject}", p.read) for p in self._in_memory),
            *((f"bytes of {p.subject}", p.read) for p in self._links),
        ]


class BrokerProbeThread(threading.Thread):
    """A broker's own figures, asked for in a thread: a node that takes seconds to answer delays no other probe."""

    def __init__(self, probe: BrokerProbe, interval_s: float) -> None:
        super().__init__(name="broker-probe", daemon=True)
        self._probe = probe
        self._interval_s = interval_s
        self._samples: SimpleQueue[Sample] = SimpleQueue()
        self._ended = threading.Event()
        self.failures: dict[str, int] = {}

    def run(self) -> None:
        while True:
            asked_ns = time.monotonic_ns()
            try:
                self._samples.put(Sample(asked_ns, self._probe.read()))
            except Exception as e:  # a broker's probe is its folder's code: whatever it raises, the others go on
                kind = f"broker: {type(e).__name__}: {e}"
                self.failures[kind] = self.failures.get(kind, 0) + 1
            spent_s = (time.monotonic_ns() - asked_ns) / 1e9
            if self._ended.wait(max(self._interval_s - spent_s, self._interval_s / 10)):
                return

    def take(self) -> list[Sample]:
        """What has arrived since the last call."""
        taken = []
        while True:
            try:
                taken.append(self._samples.get_nowait())
            except Empty:
                return taken

    def end(self) -> None:
        """Ask the thread to stop; it is not waited for, since its broker may never answer."""
        self._ended.set()


def second_unix_s(at_mono_ns: int, clock: ClockPair) -> int:
    return (at_mono_ns - clock.mono_ns + clock.unix_ns) // 1_000_000_000


def next_due_ns(now_mono_ns: int, interval_ns: int, clock: ClockPair) -> int:
    """The next middle of an interval of UNIX time: jitter there never moves a sample into a neighbouring second."""
    unix_ns = now_mono_ns - clock.mono_ns + clock.unix_ns
    wait_ns = (interval_ns // 2 - unix_ns) % interval_ns
    return now_mono_ns + (wait_ns or interval_ns)


def reading_columns(plan: ProbePlan, samples: list[Sample]) -> dict[str, list[Any]]:
    """The samples as columns of the `reading` table."""
    rows = [(s.at_mono_ns, r) for s in samples for r in s.readings]
    n = len(rows)
    return {
        "run": [plan.run] * n,
        "cell": [plan.cell] * n,
        "repeat": [plan.repeat] * n,
        "at_mono_ns": [at for at, _ in rows],
        "second_unix_s": [second_unix_s(at, plan.clock) for at, _ in rows],
        "subject": [r.subject for _, r in rows],
        "metric": [r.metric for _, r in rows],
        "value": [float(r.value) for _, r in rows],
        "unit": [r.unit for _, r in rows],
    }
