"""One reader per target: all its readings now, or the reason why there are none. Readers look; they change nothing."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Protocol, runtime_checkable

from brokerlab.brokers.contract import Broker, BrokerProbe, NodeInfo, Reading, WatchedByEndpoint
from brokerlab.brokers.kit.jolokia import JolokiaProbe
from brokerlab.brokers.registry import broker_named
from brokerlab.model.plan import Endpoint, TargetPlan
from brokerlab.model.watched_here import JVM
from brokerlab.probes import host
from brokerlab.probes.endpoint import listening_processes
from brokerlab.probes.process import ProcessProbe

_CONNECT_S = 1.0
_JVM_ROWS = tuple(JVM.values())
_JVM_S = 3.0  # the first answer of a Jolokia loads its classes


class AbsentError(Exception):
    """The target is not there now. Says why, for people."""


class Reader(Protocol):
    def read(self) -> list[Reading]:
        """All readings now. Raises AbsentError where the target is not there."""


@runtime_checkable
class TellsWhatIsMissing(Protocol):
    """Optional power of a reader, or of a probe behind it: a part of a target may not answer while the rest does."""

    def missing(self) -> Mapping[str, str]:
        """What the last reading lacks, such as `group billing`, and why."""


class HostReader:
    """`directory` is on the disk that is watched."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._cpu = host.CpuTimes()

    def read(self) -> list[Reading]:
        found: list[Reading] = []
        parts: tuple[Callable[[], list[Reading]], ...] = (
            partial(self._cpu.read, time.monotonic_ns()),
            host.read_load,
            host.read_pressure,
            host.read_memory,
            partial(host.read_disk, self._directory),
            host.read_network,
        )
        for part in parts:
            with contextlib.suppress(
                OSError, ValueError, KeyError, IndexError
            ):  # a /proc file that looks different here
                found += part()
        return found


class ProcessReader:
    def __init__(self, target: TargetPlan) -> None:
        assert target.pid is not None
        self._probe = ProcessProbe(target.name, target.pid)

    def read(self) -> list[Reading]:
        found = self._probe.read(time.monotonic_ns())
        if not found:
            raise AbsentError(f"process {self._probe.pid} has ended")
        return found


class JvmReader:
    """A JVM's beans through a Jolokia; with a process, that too. `url` is None where no agent may be attached."""

    def __init__(self, target: TargetPlan, url: str | None) -> None:
        self._process = None if target.pid is None else ProcessReader(target)
        self._url = url
        node = NodeInfo(target.name, target.pid or 0, {} if url is None else {"jolokia": url})
        self._beans = JolokiaProbe(target.security, (node,), _JVM_ROWS, _JVM_S)

    def read(self) -> list[Reading]:
        process = [] if self._process is None else self._process.read()
        beans = self._beans.read()
        if not beans and self._process is None:
            raise AbsentError(f"{self._url} does not answer")
        return [*process, *beans]


@dataclass(frozen=True)
class Known:
    """What is known of a broker besides its endpoint, because `up` started it."""

    nodes: tuple[NodeInfo, ...] = ()
    options: dict[str, str] = field(default_factory=dict)


class BrokerReader:
    """A broker by its endpoint: its own figures, its destinations and groups, and its processes where they are on this
    host. `known` is asked whenever it is found again."""

    def __init__(self, target: TargetPlan, known: Callable[[TargetPlan], Known] = lambda _: Known()) -> None:
        assert target.broker is not None
        self._target = target
        self._known = known
        self._broker: Broker = broker_named(target.broker)
        self._probes: dict[str, BrokerProbe] | None = None  # by what they read
        self._failed: dict[str, str] = {}  # what the last reading lacks of it, and why
        self._processes: list[ProcessProbe] = []

    def read(self) -> list[Reading]:
        if self._probes is None:
            if not any(map(_answers, self._target.addresses)):
                raise AbsentError(f"nothing answers at {','.join(self._target.addresses)}")
            self._open()
        now_ns = time.monotonic_ns()
        processes = [r for probe in self._processes for r in probe.read(now_ns)]
        told: list[Reading] = []
        self._failed = {}
        for what, probe in (self._probes or {}).items():
            try:
                told += probe.read()
            except Exception as error:  # a broker folder's own code; what the other probe reads is kept
                self._close_unless_there(str(error))
                self._failed[what] = str(error)
        if not told and not (processes and self._processes):
            self._close_unless_there("it tells nothing")
        return [*processes, *told]

    def missing(self) -> dict[str, str]:
        read = {what: probe for what, probe in (self._probes or {}).items() if what not in self._failed}
        probes = [probe for probe in read.values() if isinstance(probe, TellsWhatIsMissing)]
        return self._failed | {what: why for probe in probes for what, why in probe.missing().items()}

    def _close_unless_there(self, why: str) -> None:
        if not any(map(_answers, self._target.addresses)):
            self._probes, self._processes = None, []
            raise AbsentError(f"nothing answers at {','.join(self._target.addresses)}: {why}")

    def _open(self) -> None:
        target, known = self._target, self._known(self._target)
        nodes = known.nodes or self._nodes_by_address()
        offered = self._broker.capabilities.endpoint_options
        options = {n: value for n, value in {**known.options, **target.options}.items() if n in offered}
        endpoint = Endpoint(addresses=target.addresses, options=options, security=target.security)
        probes: dict[str, BrokerProbe | None] = {"its own figures": self._broker.probe(endpoint, nodes)}
        if isinstance(self._broker, WatchedByEndpoint):
            probes["its destinations and groups"] = self._broker.lag_probe(endpoint, nodes, target.name)
        self._probes = {what: probe for what, probe in probes.items() if probe is not None}
        pids = [node.pid for node in nodes if node.pid] or listening_processes(self._target.addresses)
        names = [node.name for node in nodes if node.pid] or [f"{self._target.name}-{i}" for i, _ in enumerate(pids, 1)]
        self._processes = [ProcessProbe(name, pid) for name, pid in zip(names, pids, strict=True)]

    def _nodes_by_address(self) -> tuple[NodeInfo, ...]:
        if not isinstance(self._broker, WatchedByEndpoint):
            return ()
        return self._broker.nodes_at(self._target.addresses, self._target.options, self._target.name)


def _answers(address: str) -> bool:
    name, _, port = address.rpartition(":")
    try:
        with socket.create_connection((name.strip("[]"), int(port)), _CONNECT_S):
            return True
    except OSError:
        return False
