"""What a cell's settings mean for RabbitMQ: kind of queue, members, server and client settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from brokerlab.brokers.contract import CellProblem, ComputedDurability
from brokerlab.brokers.kit import durability
from brokerlab.brokers.kit.setting_checks import looks_like, one_of, setting_problems, whole_number
from brokerlab.model.plan import AgentPlan, CellPlan, Durability, ProducersPlan

Kind = Literal["classic", "quorum", "stream"]
KINDS: tuple[Kind, ...] = ("classic", "quorum", "stream")
LEVELS: dict[Kind, dict[int, tuple[Durability, ...]]] = {
    "classic": {1: (Durability.L4,), 3: (Durability.L4,)},
    "quorum": {1: (Durability.L3,), 3: (Durability.L1,)},
    "stream": {1: (Durability.L4,), 3: (Durability.L2,)},
}
# Lines of rabbitmq.conf that may be given; all numbers.
SERVER = dict.fromkeys(
    (
        "disk_free_limit.absolute",
        "consumer_timeout",
        "max_message_size",
        "raft.wal_max_size_bytes",
        "raft.wal_max_batch_size",
        "raft.segment_max_entries",
    ),
    whole_number(),
) | {"vm_memory_high_watermark.relative": looks_like(r"0?\.\d*[1-9]\d*|1", "a share, such as 0.6")}
MOST_STREAMS = 255  # publishers and subscriptions have numbers of eight bits, one of which is kept for questions
CLIENT_DEFAULTS = {
    "prefetch": 2000,  # classic, quorum: unacknowledged messages a consumer may hold of each queue
    "credit": 10,  # stream: chunks that may be under way to a consumer of each stream
    "pending_bytes": 1 << 20,  # more unsent bytes than this and `send` takes fewer
}
# Sixteen bits in the protocols.
CLIENT = {
    "prefetch": whole_number(65_535),
    "credit": whole_number(65_535),
    "pending_bytes": whole_number(1 << 30),
    "confirms": one_of("true", "on", "false", "off"),
}


@dataclass(frozen=True)
class RabbitSettings:
    """One cell's settings, complete."""

    kind: Kind
    nodes: int
    server: dict[str, str]

    @property
    def members(self) -> int:
        """Copies of each queue: a classic queue lives on one node however many there are."""
        return 1 if self.kind == "classic" else self.nodes

    def arguments(self) -> dict[str, object]:
        """Of queue.declare."""
        found: dict[str, object] = {"x-queue-type": self.kind}
        if self.kind == "quorum":
            # 4.x drops a message that was given back 20 times, unless set otherwise.
            found |= {"x-quorum-initial-group-size": self.members, "x-delivery-limit": -1}
        if self.kind == "stream":
            found |= {"x-initial-cluster-size": self.members}
        return found | {"x-queue-leader-locator": "balanced"}


def level_of(kind: str, members: int, *, durable: bool) -> Durability:
    """A quorum queue fsyncs before it confirms; classic queues (4.x) and streams do not."""
    replicated = members > 1 and kind != "classic"
    return durability.level_of(replicated=replicated, fsynced=kind == "quorum" and durable)


def kind_of(broker: str) -> Kind:
    """From the registry's name: rabbitmq-quorum -> quorum."""
    return next(k for k in KINDS if broker.endswith(k))


def settings_of(cell: CellPlan) -> RabbitSettings:
    return RabbitSettings(kind_of(cell.broker), cell.nodes, dict(cell.broker_settings))


def confirm_window(producers: ProducersPlan) -> int:
    """How many messages of one producer may wait for their confirm: a latency means little without it."""
    schedule = producers.schedule
    return schedule.window if schedule.arrival == "closed" and schedule.window else producers.window_limit


def client_setting(asked: AgentPlan | CellPlan, name: str) -> int:
    return int(asked.client_settings.get(name, CLIENT_DEFAULTS[name]))


def confirms(asked: AgentPlan | CellPlan) -> bool:
    """Whether producers wait for confirms."""
    return asked.client_settings.get("confirms", "true") in ("true", "on")


def confirms_words(cell: CellPlan) -> dict[str, str]:
    """For settings read back: what an acknowledgement is."""
    return {"publisher confirms": "on" if confirms(cell) else "off: handed to the network is all that is known"}


def planned_durability(cell: CellPlan) -> ComputedDurability:
    """What the kind of queue and the number of nodes lead to; the truth is read back from the servers."""
    settings = settings_of(cell)
    because = {"x-queue-type": settings.kind, "members": str(settings.members)} | confirms_words(cell)
    return ComputedDurability(level_of(settings.kind, settings.members, durable=True), because)


def problems(cell: CellPlan) -> list[CellProblem]:
    """Everything in the cell that RabbitMQ cannot do."""
    found = setting_problems(cell, SERVER, CLIENT)
    if kind_of(cell.broker) != "classic" and "confirms" in cell.client_settings:
        said = "is for rabbitmq-classic: what quorum queues and streams promise is in their confirms"
        found.append(CellProblem(("client_settings", "confirms"), said, cell.client_settings["confirms"]))
    streams = cell.destinations * cell.partitions
    if kind_of(cell.broker) == "stream" and streams > MOST_STREAMS:
        said = f"{streams} streams, but one connection can have {MOST_STREAMS} at most"
        found.append(CellProblem(("destinations",), said))
    return found
