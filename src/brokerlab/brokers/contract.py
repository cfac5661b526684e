"""What a broker folder offers. Optional powers are separate protocols; what a broker cannot do, its Capabilities say.

Drivers act: they never measure, retry on their own, log per message or pace. They may read the monotonic clock only
to say when their library told them something.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

from brokerlab.model.blocks import Block, Deliveries, Int32s, Settlements
from brokerlab.model.plan import AgentPlan, CellPlan, Durability, Endpoint
from brokerlab.model.watched import WatchedMetric

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

Progress = Callable[[str, float], None]  # (what, share done from 0 to 1)


@dataclass(frozen=True)
class Capabilities:
    """What a broker can do, for `list brokers` and for refusing a workload before anything starts. What most can do is
    taken to be so: say what yours cannot, and the suite holds you to the rest."""

    nodes: tuple[int, ...]  # with which it is started here; none: only a cluster that the user runs can be used
    durability_levels: dict[int, tuple[Durability, ...]]  # by number of nodes, of clusters that the user runs too
    acknowledgement: str  # one sentence: what an acknowledgement promises
    partitions: bool = True  # a destination can have more than one, each ordered by itself
    ordered: bool = True  # messages of a lane arrive in the order in which they were sent
    groups: bool = True  # independent groups each see every message
    competing_consumers: bool = True  # consumers of one group share the messages
    keeps_backlog: bool = True  # a group made before the messages gets all of them, though its consumers come after
    replay: bool = True  # a new group, made after them, can read from the beginning too
    individual_acknowledgement: bool = True
    redelivery: bool = True  # what was received but not acknowledged comes again
    positions: bool = True  # deliveries carry the broker's own offset
    keys: bool = False  # a message's key travels with it; that keys choose partitions is so everywhere
    security: tuple[Literal["tls", "password"], ...] = ()  # what of model.plan.Security it can be asked for
    can_lose_a_node: tuple[int, ...] = ()  # numbers of nodes of which one may be killed for good
    can_restart_a_node: bool = True  # its Cluster is a CanRestartANode; then a single node may be killed too
    link_cap: tuple[
        int, ...
    ] = ()  # numbers of nodes with which all its clients connect where Endpoint says, and only there
    fsync_floor: bool = True  # its programs are linked dynamically: a library under them can make fsyncs slower
    start_s_per_node: float | None = None  # on two idle processors, where it takes much longer than 4 s
    # What an Endpoint of it may say besides addresses, and what that is for; a user gives it as --endpoint BROKER.NAME=...
    endpoint_options: Mapping[str, str] = field(default_factory=dict)
    # How a user deletes a destination that we could not: a command, if possible. May have {name}, {address}, {level}.
    delete_by_hand: str = ""


@dataclass(frozen=True)
class Installation:
    """Whether the broker can run here. `reason` says why not, or where it comes from, in one line."""

    installed: bool
    runs_here: bool
    version: str
    reason: str
    location: Path | None = None


@dataclass(frozen=True)
class NodeInfo:
    """One running server process. `urls` are where its own figures are read, by kind: addresses, never how to log in."""

    name: str  # the product's with a number
    pid: int
    urls: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class LinkInfo:
    """The process of a capped link in front of a node, and the file with the bytes it has carried."""

    name: str
    pid: int
    counts: str


@dataclass(frozen=True)
class Reading:
    """One figure read from outside a broker. Names say the quantity, `unit` the unit."""

    subject: str  # see model.subjects
    metric: str
    value: float
    unit: str

    @classmethod
    def of(cls, row: WatchedMetric, subject: str, value: float) -> Reading:
        """Of a metric in the table (model.watched), in the unit it has there."""
        return cls(subject, row.metric, value, row.unit)


@dataclass(frozen=True)
class ComputedDurability:
    """The level and the settings it follows from, read back from the broker."""

    level: Durability
    because: dict[str, str]


@dataclass(frozen=True)
class CellProblem:
    """Something that a cell asks of a broker and the broker cannot do.

    `field` is where a workload says it: ("durability",), ("security", "user"), ("broker_settings", "num.io.threads"). The
    broker's name, which a workload has between the last two, is put there by the workload's own checks.
    """

    field: tuple[str | int, ...]
    message: str
    value: str | None = None  # what was given
    nearest: str | None = None  # a name that would be valid

    def __str__(self) -> str:
        said = "" if self.value is None else f" (got {self.value!r})"
        near = "" if self.nearest is None else f"; did you mean {self.nearest!r}?"
        return f"{'.'.join(map(str, self.field))}: {self.message}{said}{near}"


@dataclass(frozen=True)
class TestHints:
    """What the contract suite must know about a broker, and users need not."""

    nodes_in_every_run: tuple[int, ...] = (
        1,
    )  # numbers of nodes that start in seconds; others belong to `make test-all`
    slow_to_start: bool = False  # tests that start a server of their own belong there too
    levels_in_every_run: bool = True  # False: other tests reach all levels on one server
    taken_port_in_every_run: bool = False  # its servers say within seconds that a port is taken
    resends: bool = False  # its client sends again by itself: over a short break a message stays open
    settles_after_death: bool = True  # False: after the server's death open messages wait for the engine's timeout
    soon_again: Mapping[str, str] = field(default_factory=dict)  # broker settings: what a lost consumer held comes soon
    advertise: Callable[[str], Mapping[str, str]] | None = None  # broker settings that send clients to this address
    lag_probe_tells: tuple[str, ...] = ("lag_messages", "messages_in_total")  # where it has a lag probe
    address_option: str | None = None  # of the endpoint: where drivers connect, if not at its addresses


class Cluster(Protocol):
    """Server processes of one cluster on loopback. Four separate steps; every one may be called after a failure."""

    def start(self) -> None:
        """Start all nodes as child processes that cannot outlive this process. Returns at once."""

    def wait_ready(self, deadline_mono_ns: int) -> None:
        """Prove readiness by a write with the wanted acknowledgement. Raises NotReadyError or BrokerDiedError, both
        with the last log lines."""

    def endpoint(self) -> Endpoint: ...

    def nodes(self) -> tuple[NodeInfo, ...]: ...

    def dead_nodes(self) -> tuple[str, ...]:
        """Names of nodes whose process has ended without being stopped."""

    def log_tail(self, lines: int = 20, of: Collection[str] = ()) -> str:
        """The last lines of the logs of these nodes, or of all, for error messages."""

    def stop(self) -> None:
        """End all nodes: SIGTERM, grace time, SIGKILL. Idempotent."""

    def clean(self) -> None:
        """Delete the data; logs stay. Only after `stop`. Idempotent."""


class Admin(Protocol):
    """Destinations and settings, through a client connection; works on a broker the user runs just as well. Where the
    broker refuses or does not answer, every method but `close` raises BrokerError."""

    def create(self, destinations: tuple[str, ...], partitions: int, groups: tuple[str, ...]) -> None:
        """Make destinations, with the cell's durability, and whatever groups need before the first message."""

    def delete(self, destinations: tuple[str, ...], groups: tuple[str, ...]) -> None:
        """Delete exactly these; those that do not exist are no error."""

    def effective_settings(self, destinations: tuple[str, ...]) -> dict[str, dict[str, str]]:
        """Subject -> setting -> value as the broker itself reports it."""

    def durability(self, destinations: tuple[str, ...]) -> ComputedDurability:
        """The level that follows from settings read back, together with the acknowledgement producers ask for."""

    def close(self) -> None:
        """Never raises, whatever became of the connection."""


class Producer(Protocol):
    """One connection that publishes. Used from one thread."""

    path: str  # "native" or "python (library version)": every result names the path taken

    def send(self, block: Block) -> int:
        """Take the first k messages and return k. Never blocks; k < len(block) means the client's buffer is full."""

    def settled(self) -> Settlements:
        """What the client has learnt since the last call. Never blocks. Every message taken settles at most once; a
        timeout or a lost connection is UNKNOWN, a definite refusal REJECTED. Called at least every few milliseconds,
        so it is also where an event loop is stepped."""

    def close(self, deadline_mono_ns: int) -> None:
        """Disconnect. What has not settled by the deadline stays unsettled: the engine calls it unknown."""


@dataclass(frozen=True)
class NativeCalls:
    """A producer's `send` and `settled` as C functions (their types are in native/sender.c), for a tick without Python.

    `settled` gives a code for each message, 0 for an acknowledgement; `judged` says what other codes of its last call
    mean: outcomes, and kinds of errors with their counts. When it gives a negative number instead, the client's Python
    `settled` is called, which may connect again. A client without a thread of its own has `watch`: what to wait for
    between ticks, so that it can send and receive when it is possible.
    """

    client: int
    send: int
    settled: int
    judged: Callable[[Int32s], tuple[npt.NDArray[np.uint8], dict[str, int]]]
    watch: int | None = None


@runtime_checkable
class ActsInC(Protocol):
    """Optional power of a Producer."""

    def native_calls(self) -> NativeCalls: ...


@runtime_checkable
class Watchable(Protocol):
    """Optional power of a Producer: to be asked when there is something to learn, instead of again and again."""

    def watched(self) -> list[tuple[int, bool]]:
        """File numbers of the sockets that answers come by, each with whether something waits to be written to it.
        None while there is no connection; none ever where `settled` tells times that a thread of the library noted."""


class Consumer(Protocol):
    """One connection that receives, as a member of one group. Subscribed when the constructor returns: a message sent
    after that will be received. Used from one thread."""

    path: str

    def receive(self, most: int, deadline_mono_ns: int) -> Deliveries:
        """At most `most` messages; returns early as soon as any are there, with none at the deadline. Loss of the
        connection is healed inside, or raised as BrokerError when it cannot be."""

    def acknowledge(self, deliveries: Deliveries) -> None:
        """Tell the broker these need not come again. Never waits for its answer where the protocol allows."""

    def remaining(self) -> int | None:
        """Messages the broker still holds for this consumer (or its whole group); None when it cannot say. May take
        milliseconds: asked only while draining."""

    def close(self, deadline_mono_ns: int) -> None: ...


class BrokerProbe(Protocol):
    """Reads a broker's own figures; called once a second by the probe process."""

    def read(self) -> list[Reading]:
        """All readings now. A node that does not answer gives none: never raises for that."""


class Broker(Protocol):
    """A broker folder's front door. Methods import what they need, so that listing brokers stays fast."""

    name: str
    product: str
    stand_in: bool  # what is started here is another product with the same protocol; `version` begins with its name
    runs: str  # what is started, in a few words, for the table in README.md
    version: str
    kind: Literal["server", "calibration"]
    capabilities: Capabilities
    test_hints: TestHints
    preferred_as: str | None  # the name by which users may prefer a server of their own on PATH; None: not offered

    def installation(self) -> Installation: ...

    def install(self, progress: Progress) -> Installation:
        """Fetch, verify, unpack into the cache; resumable; no root; does nothing when already there."""

    def problems(self, cell: CellPlan) -> list[CellProblem]:
        """What this cell asks of this broker that it cannot do, beyond what Capabilities tell: unknown settings with
        the nearest valid name, contradictions. Empty is good."""

    def cluster(self, cell: CellPlan, directory: Path, logs: Path) -> Cluster:
        """A cluster that will keep its data under `directory` and its logs under `logs`, with settings that give the
        cell's durability."""

    def admin(self, endpoint: Endpoint, cell: CellPlan) -> Admin: ...

    def producer(self, plan: AgentPlan, number: int) -> Producer: ...

    def consumer(self, plan: AgentPlan, number: int) -> Consumer: ...

    def probe(self, endpoint: Endpoint, nodes: tuple[NodeInfo, ...]) -> BrokerProbe | None:
        """Reads the figures of these nodes; where they must be logged in to, the way `endpoint` says."""


@runtime_checkable
class WatchedByEndpoint(Protocol):
    """Optional power of a Broker: to be watched where all that is known is its endpoint, and what the user adds to it."""

    @property
    def figure_options(self) -> Mapping[str, str]:
        """Options that say where figures are read, and what each is."""

    def nodes_at(self, addresses: tuple[str, ...], options: Mapping[str, str], name: str) -> tuple[NodeInfo, ...]:
        """Its nodes for `Broker.probe`, as far as addresses and options tell; pid 0. Nothing is asked of the broker."""

    def lag_probe(self, endpoint: Endpoint, nodes: tuple[NodeInfo, ...], name: str) -> BrokerProbe | None:
        """Reads what destinations take in and how far groups are behind; `nodes` as for `Broker.probe`, `name` is the
        target's, for subjects. Changes nothing; raises BrokerError where the broker does not answer. None where it cannot
        be known."""


@runtime_checkable
class PlansDurability(Protocol):
    """Optional power of a Broker: to say before anything runs which settings a cell's durability would follow from."""

    def planned_durability(self, cell: CellPlan) -> ComputedDurability: ...


@runtime_checkable
class CanLoseANode(Protocol):
    """Optional power of a Cluster: to lose one node on purpose while it is loaded."""

    def leading_node(self, destination: str) -> str:
        """The name of the node that takes writes for (the first partition of) this destination now, asked of the
        broker itself."""

    def kill_node(self, name: str) -> None:
        """SIGKILL through the process's handle, with whatever belongs to that node. `dead_nodes` does not name it
        afterwards: it was no accident. Raises KeyError for a name that `nodes` does not have."""


@runtime_checkable
class CanRestartANode(CanLoseANode, Protocol):
    """Optional power of such a Cluster: to start a node again that was killed."""

    def restart_node(self, name: str) -> None:
        """Start what `kill_node` ended, with the same command, files and data. Returns at once: it may take seconds until
        the node answers. `nodes` has the new process afterwards, and `dead_nodes` names it again if it ends."""


@runtime_checkable
class HasLinks(Protocol):
    """Optional power of a Cluster: to put capped links between clients and nodes (`cluster.link_cap`)."""

    def links(self) -> tuple[LinkInfo, ...]:
        """Those that run now; none where the cell asks for no cap."""
