"""One real node of a broker to measure against."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Self

from brokerlab.brokers.contract import Admin, NodeInfo
from brokerlab.brokers.registry import broker_named
from brokerlab.model.plan import (
    CellPlan,
    ConsumersPlan,
    Durability,
    Endpoint,
    PayloadPlan,
    PhasesPlan,
    ProducersPlan,
    SchedulePlan,
    SizeShare,
)

READY_NS = 180_000_000_000
NO_CONSUMERS = ConsumersPlan(groups=0, per_group=1, agents_per_group=1)


def one_producer(rate_per_s: float) -> ProducersPlan:
    return ProducersPlan(
        count=1,
        agents=1,
        schedule=SchedulePlan(rate_per_s=rate_per_s),
        payload=PayloadPlan(sizes=(SizeShare(message_bytes=200, weight=1),)),
    )


class RunningBroker:
    """A cluster of one node for the length of a block, with an admin; nothing is left of it."""

    admin: Admin

    def __init__(self, name: str, directory: Path, phases: PhasesPlan) -> None:
        cell = CellPlan(
            cell="bench", label="bench", broker=name, nodes=1, durability=Durability.L4, destinations=1, partitions=1,
            producers=one_producer(1), consumers=NO_CONSUMERS, phases=phases, parameters={}, broker_settings={},
            client_settings={},
        )  # fmt: skip
        self._broker, self._cell = broker_named(name), cell
        self._broker.install(lambda _what, _share: None)
        self._cluster = self._broker.cluster(cell, directory / "data", directory / "logs")

    def __enter__(self) -> Self:
        self._cluster.start()
        self._cluster.wait_ready(time.monotonic_ns() + READY_NS)
        self.admin = self._broker.admin(self._cluster.endpoint(), self._cell)
        return self

    def __exit__(self, *_: object) -> None:
        self.admin.close()
        self._cluster.stop()
        self._cluster.clean()

    def endpoint(self) -> Endpoint:
        return self._cluster.endpoint()

    def node(self) -> NodeInfo:
        return self._cluster.nodes()[0]
