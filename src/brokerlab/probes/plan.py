"""The plan of the probe process: one JSON line on its standard input."""

from __future__ import annotations

from pydantic import Field

from brokerlab.brokers.contract import NodeInfo
from brokerlab.model.environment import ClockPair
from brokerlab.model.plan import Endpoint, Frozen


class WatchedNode(Frozen):
    """A broker node: its process, and where its own figures are read."""

    name: str
    pid: int
    urls: dict[str, str] = Field(default_factory=dict)
    cores: tuple[int, ...] = ()  # those it must stay on; empty: any
    limited: bool = False  # it has a share of a processor
    memory_limited: bool = False

    def info(self) -> NodeInfo:
        return NodeInfo(name=self.name, pid=self.pid, urls=dict(self.urls))


class RestartedNode(Frozen):
    """A line that may follow the plan: the node's process has ended, and this one runs in its place."""

    name: str
    pid: int


class WatchedAgent(Frozen):
    name: str
    pid: int
    cores: tuple[int, ...] = ()


class WatchedLink(Frozen):
    """A capped link: its process, and the file with the bytes it has carried."""

    name: str
    pid: int
    counts: str


class ProbePlan(Frozen):
    """`directory` receives reading/<writer>-<number>.parquet; its disk is the one that is watched.

    `addresses` are those of a broker the user runs: on loopback its processes are found and watched like nodes.
    """

    run: str
    cell: str
    repeat: int
    attempt: int = 1
    broker: str
    endpoint: Endpoint  # how nodes are logged in to, where that is needed for their figures
    nodes: tuple[WatchedNode, ...] = ()
    agents: tuple[WatchedAgent, ...] = ()
    links: tuple[WatchedLink, ...] = ()
    addresses: tuple[str, ...] = ()
    data_directory: str = ""  # of the nodes; empty where it is not known
    directory: str
    interval_s: float = 1.0
    clock: ClockPair
