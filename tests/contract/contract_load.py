"""Small loads for the contract suite: cells, plans, stamped blocks, and loops that end on a condition or a deadline."""

from __future__ import annotations

import ctypes
import time
import uuid
from dataclasses import dataclass, field, replace

import numpy as np

from brokerlab.brokers.contract import Consumer, Producer
from brokerlab.model import plan as model
from brokerlab.model.blocks import Block, Deliveries
from brokerlab.model.header import CHECKSUM_WORD, HEADER, HEADER_BYTES, MAGIC, VERSION, checksum_keys

RUN_TAG = 0x5EED_0001
PATIENCE_S = 90.0


def deadline(seconds: float = PATIENCE_S) -> int:
    return time.monotonic_ns() + int(seconds * 1e9)


def unique(name: str) -> str:
    return f"bl-{uuid.uuid4().hex[:8]}-{name}"


def cell_for(broker: str, nodes: int, level: model.Durability, **changes: object) -> model.CellPlan:
    values: dict[str, object] = {
        "cell": "c01",
        "label": broker,
        "broker": broker,
        "nodes": nodes,
        "durability": level,
        "destinations": 1,
        "partitions": 2,
        "producers": producers_plan(),
        "consumers": model.ConsumersPlan(groups=1, per_group=1, agents_per_group=1),
        "phases": model.PhasesPlan(warm_up_s=0, measure_s=1, drain_limit_s=30),
        "parameters": {},
        "broker_settings": {},
        "client_settings": {},
    }
    return model.CellPlan(**(values | changes))


def producers_plan() -> model.ProducersPlan:
    return model.ProducersPlan(
        count=1,
        agents=1,
        schedule=model.SchedulePlan(rate_per_s=1000.0),
        payload=model.PayloadPlan(sizes=(model.SizeShare(message_bytes=100, weight=1.0),)),
    )


def agent_plan(
    cell: model.CellPlan,
    endpoint: model.Endpoint,
    destinations: tuple[str, ...],
    group: str | None = None,
    acknowledge: str = "batch",
    members: int = 1,
) -> model.AgentPlan:
    consumers = model.ConsumersPlan(groups=1, per_group=members, agents_per_group=1, acknowledge=acknowledge)
    return model.AgentPlan(
        run="contract",
        cell=cell.cell,
        repeat=1,
        agent="producer-1" if group is None else "consumer-1",
        run_tag=RUN_TAG,
        role=model.Role.PRODUCER if group is None else model.Role.CONSUMER,
        broker=cell.broker,
        driver="auto",
        endpoint=endpoint,
        destinations=destinations,
        partitions=cell.partitions,
        members=(0,),
        producers_in_cell=1,
        group=group,
        producers=cell.producers if group is None else None,
        consumers=None if group is None else consumers,
        phases=cell.phases,
        client_settings=cell.client_settings,
        durability=cell.durability,
        evidence_directory="",
        seed=1,
    )


@dataclass
class Sender:
    """Stamps messages of one producer, hands them to a driver and remembers what became of each."""

    producer: Producer
    partitions: int
    number: int = 0
    message_bytes: int = 96
    outcomes: dict[int, int] = field(default_factory=dict)
    errors: dict[str, int] = field(default_factory=dict)
    taken: int = 0
    _sequences: dict[int, int] = field(default_factory=dict)

    def block(self, count: int, message_bytes: int | None = None) -> Block:
        """The next `count` messages, spread over the partitions in turn."""
        partitions = (np.arange(self.taken, self.taken + count) % self.partitions).astype(np.int32)
        sequences = []
        for p in partitions.tolist():
            sequences.append(self._sequences.get(p, 0))
            self._sequences[p] = sequences[-1] + 1
        size = message_bytes or self.message_bytes
        return stamped(self.number, partitions, sequences, size, self.taken)

    def send(self, count: int, seconds: float = PATIENCE_S) -> None:
        """Hand over `count` messages, however many calls that takes."""
        self.send_block(self.block(count), seconds)

    def send_block(self, block: Block, seconds: float = PATIENCE_S) -> None:
        until = deadline(seconds)
        while len(block):
            k = self.producer.send(block)
            self.taken += k
            block = replace(block.part(slice(k, None)), first_index=block.first_index + k)
            self.collect()
            assert time.monotonic_ns() < until, f"{len(block)} messages were never taken"

    def collect(self) -> None:
        """Ask the driver once."""
        settled = self.producer.settled()
        self.outcomes.update(zip(settled.indices.tolist(), settled.outcomes.tolist(), strict=True))
        for kind, count in settled.errors.items():
            self.errors[kind] = self.errors.get(kind, 0) + count

    def settle(self, seconds: float = PATIENCE_S) -> dict[int, int]:
        """Until every message taken has settled."""
        until = deadline(seconds)
        while len(self.outcomes) < self.taken:
            self.collect()
            missing = self.taken - len(self.outcomes)
            assert time.monotonic_ns() < until, f"{missing} of {self.taken} never settled ({self.errors})"
            time.sleep(0.0002)
        assert set(self.outcomes) == set(range(self.taken))
        return self.outcomes


def stamped(producer: int, partitions: np.ndarray, sequences: list[int], size: int, first_index: int) -> Block:
    """A block with true headers and checksums; `size` is a multiple of 8."""
    assert size % 8 == 0
    assert size >= HEADER_BYTES
    n = len(sequences)
    rows = np.random.default_rng(first_index).integers(0, 256, (n, size), dtype=np.uint8)
    headers = np.zeros(n, HEADER)
    headers["magic"], headers["version"], headers["run_tag"] = MAGIC, VERSION, RUN_TAG
    headers["producer"], headers["partition"], headers["length"] = producer, partitions, size
    headers["sequence"] = sequences
    headers["scheduled_mono_ns"] = headers["sent_mono_ns"] = time.monotonic_ns()
    rows[:, :HEADER_BYTES] = headers.view(np.uint8).reshape(n, HEADER_BYTES)
    words = rows.view(np.uint64)
    words[:, CHECKSUM_WORD] = (words * checksum_keys(size // 8)).sum(axis=1, dtype=np.uint64)
    offsets = np.arange(n, dtype=np.int64) * size
    return Block(rows.reshape(-1), offsets, np.full(n, size, np.int32), partitions, first_index)


@dataclass(frozen=True)
class Received:
    """One message as it arrived. `intact` is its checksum's word."""

    producer: int
    partition: int
    sequence: int
    intact: bool
    redelivered: bool
    position: int

    @property
    def identity(self) -> tuple[int, int, int]:
        return self.producer, self.partition, self.sequence


def unpack(deliveries: Deliveries) -> list[Received]:
    """Read the messages through their addresses, as the engine does."""
    found = []
    for address, length, position, again in zip(
        deliveries.addresses.tolist(),
        deliveries.lengths.tolist(),
        deliveries.positions.tolist(),
        deliveries.redelivered.tolist(),
        strict=True,
    ):
        message = ctypes.string_at(address, length)
        header = np.frombuffer(message, HEADER, 1)[0]
        words = np.frombuffer(message, np.uint64)
        total = (words * checksum_keys(len(words))).sum(dtype=np.uint64)
        intact = bool(header["magic"] == MAGIC and header["length"] == length and header["checksum"] == total)
        found.append(
            Received(
                int(header["producer"]),
                int(header["partition"]),
                int(header["sequence"]),
                intact,
                bool(again),
                position,
            )
        )
    return found


def receive(
    consumers: list[Consumer], count: int, *, acknowledge: bool = True, seconds: float = PATIENCE_S, most: int = 500
) -> list[list[Received]]:
    """Poll consumers in turn until they have `count` different messages together; what each received, in order."""
    until = deadline(seconds)
    got: list[list[Received]] = [[] for _ in consumers]
    seen: set[tuple[int, int, int]] = set()
    while len(seen) < count:
        for consumer, messages in zip(consumers, got, strict=True):
            deliveries = consumer.receive(most, time.monotonic_ns() + 50_000_000)
            new = unpack(deliveries)
            messages += new
            seen.update(m.identity for m in new)
            if acknowledge and len(deliveries):
                consumer.acknowledge(deliveries)
            if deliveries.release is not None:
                deliveries.release()
        if time.monotonic_ns() >= until:
            left = [consumer.remaining() for consumer in consumers]
            raise AssertionError(f"received {len(seen)} of {count}; the broker says {left} remain")
    return got


def wait_remaining(consumer: Consumer, wanted: int, seconds: float = PATIENCE_S) -> None:
    """Until the broker says that exactly `wanted` messages remain. The consumer is polled: clients work while polled."""
    until = deadline(seconds)
    while (left := consumer.remaining()) != wanted:
        assert time.monotonic_ns() < until, f"{left} remain instead of {wanted}"
        time.sleep(0.02)
