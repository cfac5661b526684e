"""What was asked, frozen: a `RunPlan` of cells, and the `AgentPlan` each load process reads.

Every duration is in seconds, every size in bytes, every rate in messages a second; the field's name says so.
"""

from __future__ import annotations

import math
from enum import StrEnum
from typing import Literal

from pydantic import Field

from brokerlab.model.document import SchemaVersion
from brokerlab.model.execution_id import ExecutionId
from brokerlab.model.frozen import Frozen as Frozen
from brokerlab.model.machine_plan import MachinePlan as MachinePlan

PLAN_SCHEMA_VERSION = 1
DEFAULT_STRIPE = 64
RESTART_S = 60.0  # in which a node that is started again answers


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
    """One set of consumers: groups that are alike and start together, and read everything from the first message on.

    tailing: before the first send. after: `start_after_s` from the beginning of the measure phase. backlog: when producers
    have sent `start_backlog_bytes`. after_backlog: when they have sent everything.
    """

    name: str = ""  # empty where a cell has one set only
    groups: int
    per_group: int
    agents_per_group: int
    agents: int | None = None  # of all groups together: several groups share one; agents_per_group is 1 then
    start: Literal["tailing", "after", "backlog", "after_backlog"] = "tailing"
    start_after_s: float | None = None
    start_backlog_bytes: int | None = None
    acknowledge: Literal["each", "batch", "automatic"] = "batch"
    receive_most: int = 2048  # messages a consumer takes at once: they share a time of arrival, and an acknowledgement
    drop_page_cache: bool = False  # of the nodes' files, when the set starts

    @property
    def starts_late(self) -> bool:
        return self.groups > 0 and self.start != "tailing"

    def group_names(self) -> tuple[str, ...]:
        """Short names: what a group's name in the broker ends with, after the last hyphen. They tell the set."""
        before = f"{self.name}_" if self.name else ""
        return tuple(f"{before}g{i + 1}" for i in range(self.groups))

    @property
    def all_agents(self) -> int:
        return self.groups * self.agents_per_group if self.agents is None else self.agents

    def agent_prefix(self) -> str:  # what the names of its agents begin with
        return f"consumer-{self.name}_" if self.name else "consumer-g"

    def start_words(self) -> str:
        """For people: "tailing", "10 s after measure begins", "after a backlog of 60 MB", "after everything was sent"."""
        after, backlog = self.start_after_s, (self.start_backlog_bytes or 0) / 1e6
        if self.start in ("tailing", "after_backlog"):
            return "tailing" if self.start == "tailing" else "after everything was sent"
        return f"{after:g} s after measure begins" if after is not None else f"after a backlog of {backlog:,g} MB"


class PhasesPlan(Frozen):
    warm_up_s: float
    measure_s: float
    drain_limit_s: float
    first_warm_up_s: float | None = None  # load on a cluster that was just started, before its first execution


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
    """A node ends from one instant to the next, `at_s` after the beginning of the measure phase. It stays dead, or its
    process is started again on the same data `restart_after_s` later."""

    kind: Literal["kill"] = "kill"
    target: str  # "leader", "follower" or the name of a node
    at_s: float
    restart_after_s: float | None = None

    @property
    def back_s(self) -> float:
        """When the node's process is started again; infinite where it is not."""
        return math.inf if self.restart_after_s is None else self.at_s + self.restart_after_s

    @property
    def outage_s(self) -> float:
        """How long a node may be missed that comes back: it must start, on a busy machine if need be."""
        return 0.0 if self.restart_after_s is None else self.restart_after_s + RESTART_S

    def words(self) -> str:
        """For people: "kill leader 5 s into measure, start it again 2 s later"."""
        again = "" if self.restart_after_s is None else f", start it again {self.restart_after_s:g} s later"
        return f"kill {self.target} {self.at_s:g} s into measure{again}"


# One thing that goes wrong on purpose, told apart by `kind`. Another kind is another class here, in a union.
FaultPlan = KillPlan


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
    endpoint_options: dict[str, str] = Field(default_factory=dict)  # of that broker; see Capabilities.endpoint_options
    kept_cluster: bool = False  # executions of cells with the same `cluster_key` may follow each other on one cluster
    machine: MachinePlan = MachinePlan()
    more_consumers: tuple[ConsumersPlan, ...] = ()  # the sets after the first, which is `consumers`

    @property
    def consumer_sets(self) -> tuple[ConsumersPlan, ...]:
        """All that have a group."""
        return tuple(of for of in (self.consumers, *self.more_consumers) if of.groups)

    @property
    def groups(self) -> int:
        """Of all sets."""
        return sum(of.groups for of in self.consumer_sets)

    def set_of(self, group: str) -> ConsumersPlan:
        """The set of a group, by its name in the broker or a short one; the first where no name fits."""
        short = group.rpartition("-")[2]
        return next((of for of in self.consumer_sets if short in of.group_names()), self.consumers)

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


class TargetPlan(Frozen):
    """One thing that is watched without load. `name` tells its series from others'."""

    kind: Literal["host", "process", "jvm", "broker"]
    name: str
    broker: str | None = None
    addresses: tuple[str, ...] = ()  # of a broker
    options: dict[str, str] = Field(default_factory=dict)  # as Endpoint.options
    security: Security | None = None
    pid: int | None = None  # of a process or a JVM
    url: str | None = None  # Jolokia of a JVM
    attach: bool = False  # an agent may be attached to the JVM

    def words(self) -> str:
        """For people."""
        if self.kind == "host":
            return "this host"
        if self.kind == "broker":
            return f"{self.broker} at {','.join(self.addresses)}"
        process = f"process {self.pid}"
        return process if self.kind == "process" else f"the JVM {f'at {self.url}' if self.url else f'of {process}'}"


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
    kind: Literal["load", "monitor"] = "load"  # monitor: nothing is loaded, there are no cells, `targets` are watched
    targets: tuple[TargetPlan, ...] = ()
    interval_s: float = 1.0  # of readings, where targets are watched

    def repeat_words(self, execution: ExecutionId) -> str:
        """For people: "repeat 2 of 4", and "extra repeat 1" for one that stands in for another."""
        beyond = execution.repeat - self.repeats
        return f"extra repeat {beyond}" if beyond > 0 else f"repeat {execution.repeat} of {self.repeats}"


class Endpoint(Frozen):
    """Where and how clients connect. `options` are connection facts, never tuning and never secrets."""

    addresses: tuple[str, ...]  # "127.0.0.1:9092"
    options: dict[str, str] = Field(default_factory=dict)
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
    group: str | None  # consumers: their group's name in the broker; the first where there are several
    groups: tuple[str, ...] = ()  # of each of `members`, where an agent hosts several groups
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
    outage_s: float = 0.0  # how much longer than usual a broker may be out of reach, because that is planned

    def by_group(self) -> list[AgentPlan]:
        """A plan for each group that a consuming agent hosts, with the members of that group alone."""
        hosted = list(zip(self.members, self.groups or (self.group or "",) * len(self.members), strict=True))
        members = {group: tuple(m for m, of in hosted if of == group) for _, group in hosted}
        return [self.model_copy(update={"group": g, "members": m, "groups": ()}) for g, m in members.items()]
