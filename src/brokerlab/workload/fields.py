"""The workload file's fields: what may be written, with units, defaults and one sentence each. Unknown keys are refused.

These models check each value by itself. What contradicts what is in contradictions.py; what a broker cannot do in
capabilities.py. The JSON Schema for editors is generated from here.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag, WithJsonSchema

from brokerlab.model.plan import Frozen, KillPlan
from brokerlab.secrets import FORMS, is_reference
from brokerlab.workload.consumer_fields import Consumers, ConsumerSets
from brokerlab.workload.objectives import OBJECTIVE_PATTERN, parse_objective
from brokerlab.workload.quantity_fields import Bytes, BytesRate, Count, Rate, Seconds, Share, Size

MESSAGES_MOST = 10**12
USER_PATTERN = r"^[A-Za-z0-9._@-]{1,64}$"  # stands in configuration files of every kind, so nothing that needs quotes
ALL = "all"  # every server broker that runs here and can do what the workload asks


CellName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,39}$")]


def _setting(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return str(value)
    raise ValueError("must be text, a number, true or false")


def _objective(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("must be text such as `lost == 0`")
    parse_objective(value)
    return value


def _reference(value: Any) -> str:
    if not isinstance(value, str) or not is_reference(value):
        raise ValueError(f"must be {FORMS}")
    return value


def _user(value: Any) -> str:
    if not isinstance(value, str) or re.fullmatch(USER_PATTERN, value) is None:
        raise ValueError("must be a name of letters, digits and . _ - @")
    return value


def _broker_list(value: Any) -> Any:
    return [ALL] if value == ALL else value


Reference = Annotated[
    str,
    BeforeValidator(_reference),
    WithJsonSchema(
        {
            "type": "string",
            "pattern": r"^(env:[A-Za-z_][A-Za-z0-9_]*|file:.*\S.*)$",
            "examples": ["env:BROKERLAB_PASSWORD"],
        }
    ),
]
UserName = Annotated[str, BeforeValidator(_user), WithJsonSchema({"type": "string", "pattern": USER_PATTERN})]
BrokerNames = Annotated[
    tuple[str, ...],
    Field(min_length=1),
    BeforeValidator(_broker_list),
    WithJsonSchema(
        {"anyOf": [{"const": ALL}, {"type": "array", "items": {"type": "string"}, "minItems": 1}]},
    ),
]
Setting = Annotated[str, BeforeValidator(_setting), WithJsonSchema({"type": ["string", "number", "boolean"]})]
ObjectiveText = Annotated[
    str, BeforeValidator(_objective), WithJsonSchema({"type": "string", "pattern": OBJECTIVE_PATTERN})
]


class Cluster(Frozen):
    nodes: Count = Field(1, description="Server processes of the cluster.")
    kept: Annotated[bool, Field(strict=True)] = Field(
        False,
        description="Keep a cluster over executions with equal server settings, instead of a fresh one for each.",
    )
    cpu_share_per_node: Annotated[float, Field(ge=0.1, allow_inf_nan=False)] | None = Field(
        None, description="Share of one processor that each node may use, by a control group of the kernel."
    )
    disk_write_cap: Annotated[BytesRate, Field(ge=100_000)] | None = Field(
        None, description="Bytes a second that each node may write to its disk, by a control group of the kernel."
    )
    memory_limit_per_node: Annotated[Bytes, Field(ge=16 << 20)] | None = Field(
        None,
        description="Memory that each node may use, cached files included, by a control group of the kernel.",
    )
    fsync_floor: Annotated[Seconds, Field(ge=0.0001, le=10)] | None = Field(
        None, description="Least time of each fsync of a node, by a preloaded library."
    )
    link_cap: Annotated[BytesRate, Field(ge=100_000, le=500_000_000)] | None = Field(
        None,
        description="Bytes a second, each way, between a node and all that connects to it, by a forwarding process.",
    )


Cores = Annotated[tuple[Annotated[int, Field(strict=True, ge=0)], ...], Field(min_length=1)]


class Placement(Frozen):
    nodes: Cores | None = Field(None, description="Cores that the nodes run on, such as [0].")
    producers: Cores | None = Field(None, description="Cores that producers' agents run on.")
    consumers: Cores | None = Field(None, description="Cores that consumers' agents run on.")


class Destinations(Frozen):
    count: Count = Field(1, description="Topics or queues.")
    partitions: Count = Field(1, description="Partitions of each destination.")


class Burst(Frozen):
    rate: Rate = Field(description="Total rate during a burst.")
    length: Seconds = Field(description="How long a burst lasts.")
    every: Seconds = Field(description="From the beginning of one burst to the beginning of the next.")


class Ramp(Frozen):
    to: Rate = Field(description="Total rate at the end of measure; it begins with producers.rate.")


class BurstArrival(Frozen):
    burst: Burst


class RampArrival(Frozen):
    ramp: Ramp


def _arrival_form(value: Any) -> str:
    if isinstance(value, dict | BurstArrival | RampArrival):
        return "<ramp>" if "ramp" in value or isinstance(value, RampArrival) else "<burst>"
    return "<word>"


Arrival = Annotated[
    Annotated[Literal["uniform", "poisson"], Tag("<word>")]
    | Annotated[BurstArrival, Tag("<burst>")]
    | Annotated[RampArrival, Tag("<ramp>")],
    Discriminator(_arrival_form),
]


class MixedSize(Frozen):
    size: Size = Field(description="Bytes of the whole message.")
    weight: float = Field(1.0, gt=0, allow_inf_nan=False, description="How often, relative to the others.")


def _message_form(value: Any) -> str:
    return "<mix>" if isinstance(value, list | tuple) else "<size>"


Message = Annotated[
    Annotated[Size, Tag("<size>")] | Annotated[tuple[MixedSize, ...], Field(min_length=1), Tag("<mix>")],
    Discriminator(_message_form),
]


class Payload(Frozen):
    kind: Literal["random", "file", "lines", "sensors"] = Field("random", description="What a message is filled with.")
    compressibility: float | None = Field(None, ge=0, le=1, description="Share of a random body that compresses away.")
    file: str | None = Field(None, description="Data file of kind file or lines, relative to the workload file.")
    files: tuple[str, ...] | None = Field(
        None, description="Instead of file: data files, one for each producer, in turn."
    )
    lines: Count | None = Field(None, description="sensors: how many recordings the generated file has.")
    read_in_ram: Annotated[bool, Field(strict=True)] | None = Field(
        None, description="lines, sensors: read the whole file first (true), or while sending (false)."
    )


class Keys(Frozen):
    count: Annotated[int, Field(strict=True, ge=1, le=10_000_000)] = Field(description="Different keys.")
    distribution: Literal["uniform", "zipf"] = Field("uniform", description="How often each key is used.")


class Batch(Frozen):
    least: Count = Field(description="Smallest batch.")
    most: Count = Field(description="Largest batch; every size between them is equally likely.")


class Producers(Frozen):
    count: Annotated[int, Field(strict=True, ge=1, le=65_535)] = Field(1, description="Connections that publish.")
    agents: Count = Field(1, description="Processes the producers are spread over.")
    rate: Rate | None = Field(None, description="Total messages a second over all producers (open loop).")
    window: Count | None = Field(None, description="Unacknowledged messages per producer at once (closed loop).")
    batch: Batch | None = Field(
        None, description="Synchronous batches of random size, one after the other (closed loop)."
    )
    messages: Annotated[int, Field(strict=True, ge=1, le=MESSAGES_MOST)] | None = Field(
        None,
        description="Total over all producers: measure ends when so many were sent in it, or after phases.measure.",
    )
    arrival: Arrival | None = Field(None, description="How messages are spread in time (default: uniform).")
    message: Message | None = Field(None, description="Bytes of a message, or a mix of sizes (default: 1KiB).")
    payload: Payload = Field(default=Payload.model_validate({}), description="What messages are filled with.")
    keys: Keys | None = Field(None, description="Give messages keys; they decide the partition.")
    stripe: Annotated[int, Field(strict=True, ge=1, le=1_000_000)] | None = Field(
        None, description="Messages in a row to one partition before the next one's turn (default: 64)."
    )
    send_timeout: Seconds = Field(30.0, gt=0, description="Without an answer for this long, the outcome is unknown.")


class Phases(Frozen):
    warm_up: Seconds = Field(5.0, ge=0, description="Load before measuring.")
    first_warm_up: Seconds | None = Field(
        None,
        ge=0,
        description="Load on a cluster that was just started, before its first execution; nothing of it is kept.",
    )
    measure: Seconds = Field(gt=0, description="What results are computed from; with producers.messages, the longest.")
    drain_limit: Seconds = Field(30.0, ge=0, description="How long consumers may still receive afterwards.")


class KillFault(Frozen):
    kill: str = Field(
        pattern=r"^[a-z][a-z0-9-]*$", description="Node to end with SIGKILL: leader, follower, or a node's name."
    )
    at: Seconds = Field(ge=0, description="When, after the beginning of measure.")
    restart_after: Seconds | None = Field(
        None, ge=0, description="Start its process again so long after, on the same data (default: it stays dead)."
    )

    def planned(self) -> KillPlan:
        return KillPlan(target=self.kill, at_s=self.at, restart_after_s=self.restart_after)


Fault = KillFault  # told apart by the first key; another kind is another class, in a union


class Security(Frozen):
    tls: Annotated[bool, Field(strict=True)] = Field(False, description="Connections are encrypted.")
    ca_file: Annotated[str, Field(min_length=1)] | None = Field(
        None,
        description="PEM file of the certificate authority to trust, relative to the workload file; only with --endpoint.",
    )
    user: UserName | None = Field(None, description="The user who logs in.")
    password: Reference | None = Field(
        None, description="Where the password is: env:NAME or file:PATH; never the password itself."
    )


class SmallestDifference(Frozen):
    rates: Share = Field(0.02, description="Of rates, and of all else that is not a latency.")
    latencies: Share = Field(0.05, description="Of latencies.")


class Workload(Frozen):
    """A question to one or several brokers: the load, what is measured, and what counts as good."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]{0,39}$", description="Part of the run's name: a-z, 0-9 and -.")
    question: str = Field(min_length=1, description="What the run should answer, in one sentence.")
    broker: str | None = Field(None, description="The broker.")
    brokers: BrokerNames | None = Field(
        None,
        description="Several brokers, one after the other; all: every broker that runs here and can do what is asked.",
    )
    cluster: Cluster = Field(default=Cluster.model_validate({}), description="The servers.")
    placement: Placement | None = Field(None, description="Which cores nodes and agents run on (default: any).")
    durability: Literal["L1", "L2", "L3", "L4", "strongest", "weakest"] = Field(
        "L4",
        description="What an acknowledgement promises: L1 replicated and fsynced, L2 replicated, L3 fsynced, L4 neither; "
        "strongest, weakest: of the levels each broker has with this number of nodes.",
    )
    security: Security | None = Field(None, description="TLS and password that servers require and clients use.")
    destinations: Destinations = Field(default=Destinations.model_validate({}), description="Topics or queues.")
    producers: Producers = Field(description="What is sent, and how fast.")
    consumers: ConsumerSets | None = Field(
        None, description="Who receives (default: no consumers); a list: several sets, each with a name."
    )
    phases: Phases = Field(description="How long the load lasts.")
    faults: tuple[Fault, ...] = Field((), description="What goes wrong on purpose, and when; implies keep_messages.")
    sweep: dict[str, list[Any]] = Field(default={}, description="Field path to values: one cell for each combination.")
    cells: dict[CellName, dict[str, Any] | None] = Field(
        default={}, description="Name of a cell to field paths and their values there; instead of sweep."
    )
    repeats: Annotated[int, Field(strict=True, ge=1, le=1000)] = Field(1, description="How often each cell is run.")
    retries: Annotated[int, Field(strict=True, ge=0, le=1000)] | None = Field(
        None,
        description="Most extra executions of each cell, in place of those that the machine or our own agents spoiled; "
        "left out: as many as repeats.",
    )
    objectives: tuple[ObjectiveText, ...] = Field((), description="What counts as good.")
    smallest_difference: SmallestDifference = Field(
        default=SmallestDifference.model_validate({}),
        description="From which on a difference between cells is called one.",
    )
    broker_settings: dict[str, dict[str, Setting]] = Field(default={}, description="Broker to server settings.")
    client_settings: dict[str, dict[str, Setting]] = Field(default={}, description="Broker to client settings.")
    driver: Literal["auto", "native", "python"] = Field("auto", description="Path to the broker.")
    keep_messages: Annotated[bool, Field(strict=True)] = Field(
        False, description="Keep one row of evidence per message."
    )
    ceilings: Annotated[bool, Field(strict=True)] = Field(
        False, description="Measure what disk and loopback can do at most, before the first execution (2 s)."
    )
    seed: Annotated[int, Field(strict=True, ge=0, lt=1 << 63)] = Field(
        1, description="Seed of payloads, keys and Poisson times."
    )

    def consumer_sets(self) -> list[tuple[tuple[str | int, ...], Consumers]]:
        """Every set with its path, the single form included."""
        if isinstance(self.consumers, tuple):
            return [(("consumers", i), of) for i, of in enumerate(self.consumers)]
        return [] if self.consumers is None else [(("consumers",), self.consumers)]
