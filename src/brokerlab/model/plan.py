"""What was asked, frozen: a `RunPlan` of cells, and the `AgentPlan` each load process reads.

Every duration is in seconds, every size in bytes, every rate in messages a second; the field's name says so.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from pydantic import BaseModel, ConfigDict

from brokerlab.model.document import SchemaVersion
from brokerlab.model.execution_id import ExecutionId

PLAN_SCHEMA_VERSION = 1
DEFAULT_STRIPE = 64


class Frozen(BaseModel):
    """An immutable value that refuses unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Durability(StrEnum):
    """What an acknowledgement promises. Computed from a broker's effective settings, never taken on trust."""

    L1 = "L1"  # replicated and fsynced before the acknowledgement
    L2 = "L2"  # replicated, not fsynced
    L3 = "L3"  # fsynced on one node
    L4 = "L4"  # neither


class Phase(StrEnum):
    """The phase a message belongs to is the one it was *scheduled* in."""

    WARM_UP = "warm_up"
    MEASURE = "measure"
    DRAIN = "drain"


class Role(StrEnum):
    PRODUCER = "producer"
    CONSUMER = "consumer"


class SizeShare(Frozen):
    """One size of a mix and how often it is drawn."""

    message_bytes: int
    weight: float


class PayloadPlan(Frozen):
    """What a message is filled with after its header. Sizes count the whole message, header included.

    random: bytes of which the share `compressibility` is compressible; `sizes` has one entry, or several for a mix.
    file:   the whole file is one message body; `sizes` is empty.
    lines:  each line of the file is one message body; `sizes` is empty. `read_in_ram=False` reads while sending.

    Producers share the file at `path`, or have their own: producer i the file at paths[i % len(paths)]. With `sensor_lines`
    the file at `path` is one of so many recordings (workload/sensors.py) and is made before the run where it is missing.
    """

    kind: Literal["random", "file", "lines"] = "random"
    sizes: tuple[SizeShare, ...] = ()
    compressibility: float = 0.0
    path: str | None = None
    paths: tuple[str, ...] = ()
    sensor_lines: int | None = None
    read_in_ram: bool = True


class KeysPlan(Frozen):
    """Keys decide the partition: partition = key number modulo partitions, the same for every broker."""

    count: int
    distribution: Literal["uniform", "zipf"] = "uniform"


class SchedulePlan(Frozen):
    """When one producer's messages are due, or (arrival `closed`) how many may be unacknowledged at once.

    rate_per_s is per producer. burst: `burst_rate_per_s` for `burst_s` out of every `burst_every_s`, `rate_per_s`
    otherwise. ramp: linear from `rate_per_s` to `ramp_to_rate_per_s` over the warm-up and measure phases together.
    closed with `batch_least`: batches of that many to `window` messages, the next one when all of the last have settled.
    """

    arrival: Literal["uniform", "poisson", "burst", "ramp", "closed"] = "uniform"
    rate_per_s: float | None = None
    window: int | None = None
    batch_least: int | None = None
    burst_rate_per_s: float | None = None
    burst_s: float | None = None
    burst_every_s: float | None = None
    ramp_to_rate_per_s: float | None = None


class ProducersPlan(Frozen):
    count: int
    agents: int  # operating-system processes the producers are spread over
    schedule: SchedulePlan
    payload: PayloadPlan
    keys: KeysPlan | None = None
    window_limit: int = 100_000  # open loop: most unacknowledged messages per producer before it counts `buffer_full`
    send_timeout_s: float = 30.0  # no word about a message after this long: its outcome is unknown
    stripe: int = DEFAULT_STRIPE  # without keys: messages in a row to one partition before the next one's turn
    messages: int | None = None  # in all: measure ends when so many were sent in it, or with its time

    def messages_of(self, producer: int) -> int | None:
        """How many of `messages` this producer sends."""
        return None if self.messages is None else self.messages // self.count + (producer < self.messages % self.count)


class ConsumersPlan(Frozen):
    groups: int
    per_group: int
    agents_per_group: int
    start: Literal["tailing", "after_backlog"] = "tailing"
    acknowledge: Literal["each", "batch", "automatic"] = "batch"
    receive_most: int = 2048  # messages a consumer takes at once: they share a time of arrival, and an acknowledgement


class PhasesPlan(Frozen):
    warm_up_s: float
    measure_s: float
    drain_limit_s: float


class Security(Frozen):
    """How clients prove who they are and whom they trust. A password is only ever a reference, `env:NAME` or
    `file:PATH`, resolved by `brokerlab.secrets` in the process that connects: never in a plan, a command line or a log.

    With a cluster of ours the servers are started to demand just this, with a certificate made for the run.
    """

    tls: bool = False
    ca_file: str | None = None  # whom to trust; for a cluster of ours set by it
    user: str | None = None
    password: str | None = None  # env:NAME or file:PATH

    def asks(self) -> tuple[Literal["tls", "password"], ...]:
        """What a broker must be able to do for this; the words of Capabilities.security."""
        tls: tuple[Literal["tls", "password"], ...] = ("tls",) if self.tls else ()
        return (*tls, "password") if self.password is not None else tls

    def words(self) -> str:
        """For people: "TLS and password"."""
        if self.password is not None and not self.tls:
            return "password without TLS"
        return " and ".join({"tls": "TLS", "password": "password"}[a] for a in self.asks())

    def description(self) -> str:
        """For people: `words`, the user and where the password is looked up."""
        if self.password is None:
            return self.words()
        note = "" if self.tls else "; the password crosses the wire readable"
        return f"{self.words()}, user {self.user}, password in {self.password}{note}"


class KillPlan(Frozen):
    """A node ends from one instant to the next, `at_s` after the beginning of the measure phase, and stays dead."""

    kind: Literal["kill"] = "kill"
    target: str  # "leader", "follower" or the name of a node
    at_s: float


# One thing that goes wrong on purpose, told apart by `kind`. Another kind is another class here, in a union.
FaultPlan = KillPlan


class MachinePlan(Frozen):
    """What a cell's processes get of the machine; what is not given is as the machine is.

    Cores are numbered as the kernel does. Every server process has its own share of a processor and its own disk cap.
    """

    node_cores: tuple[int, ...] = ()
    producer_cores: tuple[int, ...] = ()
    consumer_cores: tuple[int, ...] = ()
    cpu_share_per_node: float | None = None  # of one processor
    disk_write_bytes_per_s: int | None = None
    drop_page_cache: bool = False  # of the nodes' files, before a backlog is read
    link_bytes_per_s: int | None = None  # between everything that connects to a node and that node, each way

    @property
    def limits_cpu(self) -> bool:
        return self.cpu_share_per_node is not None

    def words(self) -> str:
        """For people: "nodes on core 0, producers on cores 1, 2; 0.3 of a processor for each node". Empty where nothing is
        asked."""
        places = (("nodes", self.node_cores), ("producers", self.producer_cores), ("consumers", self.consumer_cores))
        said = [
            f"{who} on core{'s' if len(cores) > 1 else ''} {', '.join(map(str, cores))}"
            for who, cores in places
            if cores
        ]
        if self.cpu_share_per_node is not None:
            said.append(f"{self.cpu_share_per_node:g} of a processor for each node")
        if self.disk_write_bytes_per_s is not None:
            said.append(f"disk writes of each node at most {self.disk_write_bytes_per_s / 1e6:g} MB/s")
        if self.link_bytes_per_s is not None:
            said.append(
                f"a link of {self.link_bytes_per_s / 1e6:g} MB/s each way to each node, by a forwarding process"
            )
        if self.drop_page_cache:
            said.append("the page cache of the nodes' files dropped before the backlog is read")
        return ", ".join(said)


class CellPlan(Frozen):
    """One combination of the sweep, or one named cell: a broker under one load."""

    cell: str  # "c01"
    label: str  # its name in the workload, else what differs from the other cells, for people: "rate 20,000/s"
    broker: str
    nodes: int
    durability: Durability
    destinations: int
    partitions: int  # per destination
    producers: ProducersPlan
    consumers: ConsumersPlan
    phases: PhasesPlan
    parameters: dict[str, str]  # field path of the sweep or of the named cell -> value as written
    broker_settings: dict[str, str]
    client_settings: dict[str, str]
    driver: Literal["auto", "native", "python"] = "auto"
    keep_messages: bool = False
    security: Security | None = None
    faults: tuple[FaultPlan, ...] = ()  # in order of time
    endpoint: tuple[str, ...] = ()  # given: a broker the user runs; never started, stopped or cleaned by us
    endpoint_options: dict[str, str] = {}  # of that broker; see Capabilities.endpoint_options
    kept_cluster: bool = False  # executions of cells with the same `cluster_key` may follow each other on one cluster
    machine: MachinePlan = MachinePlan()

    def cluster_key(self) -> str | None:
        """What a cluster of ours is made from, as text: cells with the same one can use a kept cluster. None where every
        execution has a cluster of its own."""
        if not self.kept_cluster or self.faults or self.endpoint:
            return None
        asked = {"broker", "nodes", "durability", "broker_settings", "security"}
        of_agents = {"machine": {"producer_cores", "consumer_cores", "drop_page_cache"}}
        return self.model_dump_json(include=asked | {"machine"}, exclude=of_agents)


class Objective(Frozen):
    """`quantile` of `measure`, or a delivery count, compared with a limit (nanoseconds for latencies)."""

    text: str
    measure: str  # publish_latency, end_to_end_latency, send_delay, throughput, lost, duplicated, ...
    quantile: float | None
    comparison: Literal["<", "<=", "==", ">=", ">"]
    limit: float


class SmallestDifference(Frozen):
    """The share from which a difference between cells is worth calling, however sure it is."""

    rates: float = 0.02  # of all metrics that are not latencies
    latencies: float = 0.05


class LeftOut(Frozen):
    """A broker that `brokers: all` means and that is not run, with the reason."""

    broker: str
    reason: str


class RunPlan(Frozen):
    schema_version: SchemaVersion = PLAN_SCHEMA_VERSION
    run: str  # "<utc>-<name>-<id>", the run directory's name
    name: str
    question: str
    workload_file: str
    workload_text: str
    overrides: tuple[str, ...]
    fingerprint: str  # sha256 over everything that decides the plan; the same command finds its unfinished run by it
    tag: str | None
    seed: int
    repeats: int
    retries: int = 0  # most extra executions of a cell, in place of those that the machine or our own agents spoiled
    cells: tuple[CellPlan, ...]
    order: tuple[ExecutionId, ...]  # repeats are interleaved, so that drift of the machine falls on all cells alike
    objectives: tuple[Objective, ...]
    left_out: tuple[LeftOut, ...] = ()
    ceilings: bool = False  # what disk and loopback can do at most is measured before the first execution
    smallest_difference: SmallestDifference = SmallestDifference()

    def repeat_words(self, execution: ExecutionId) -> str:
        """For people: "repeat 2 of 4", and "extra repeat 1" for one that stands in for another."""
        beyond = execution.repeat - self.repeats
        return f"extra repeat {beyond}" if beyond > 0 else f"repeat {execution.repeat} of {self.repeats}"


class Endpoint(Frozen):
    """Where and how clients connect. `options` are connection facts, never tuning and never secrets."""

    addresses: tuple[str, ...]  # "127.0.0.1:9092"
    options: dict[str, str] = {}
    security: Security | None = None


class AgentPlan(Frozen):
    """All one load process knows. It gets the start time separately, once every agent has said it is ready.

    A *partition number* here is global to the cell: destination index x partitions + partition within it.
    """

    schema_version: int = PLAN_SCHEMA_VERSION
    run: str
    cell: str
    repeat: int
    agent: str  # "producer-1", "consumer-g1-2"
    run_tag: int  # 32 bits in every header: tells this execution's messages from any other
    attempt: int = 1  # how often this execution was begun
    role: Role
    broker: str
    driver: Literal["auto", "native", "python"]
    endpoint: Endpoint
    destinations: tuple[str, ...]  # names in the broker
    partitions: int  # per destination
    members: tuple[int, ...]  # numbers of the producers or consumers this agent hosts
    producers_in_cell: int
    group: str | None  # consumers: their group's name in the broker
    producers: ProducersPlan | None
    consumers: ConsumersPlan | None
    phases: PhasesPlan
    client_settings: dict[str, str]
    durability: Durability
    evidence_directory: str
    seed: int
    keep_messages: bool = False
    tick_ns: int = 180_000
    cores: tuple[int, ...] = ()  # the process was started on these; empty: on any
