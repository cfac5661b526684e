"""RabbitMQ's front doors: one for each kind of queue, because what they promise differs."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from brokerlab.brokers.contract import (
    Admin,
    BrokerProbe,
    Capabilities,
    Cluster,
    Consumer,
    Installation,
    NodeInfo,
    Producer,
    Progress,
)
from brokerlab.brokers.rabbitmq.settings import LEVELS, Kind, kind_of
from brokerlab.model.plan import AgentPlan, CellPlan, Endpoint

_PROMISES: dict[Kind, str] = {
    "classic": "the one node that has the queue has taken the message; it is written to disk soon, without fsync",
    "quorum": "a majority of the queue's members has written the message to its log and fsynced it",
    "stream": "a majority of the stream's replicas has written the message, to the operating system only",
}


class RabbitBroker:
    """See brokers.contract.Broker."""

    product = "RabbitMQ"
    version = "4.0.5"
    kind: Literal["server", "calibration"] = "server"

    def __init__(self, queue_kind: Kind) -> None:
        self.name = f"rabbitmq-{queue_kind}"
        is_stream = queue_kind == "stream"
        self.capabilities = Capabilities(
            nodes=(1, 3),
            durability_levels=LEVELS[queue_kind],
            partitions=True,
            groups=True,
            competing_consumers=True,
            replay=is_stream,
            individual_acknowledgement=not is_stream,
            redelivery=True,
            positions=is_stream,
            acknowledgement=_PROMISES[queue_kind],
            security=("tls", "password"),
            can_lose_a_node=() if queue_kind == "classic" else (3,),  # a classic queue lives on one node
            endpoint_options={
                "management": "http://HOST:PORT[,...]: the management plugin, which tells what kind of queue it is and its replicas",
                **({"stream": "HOST:PORT[,...]: the listeners of the stream protocol"} if is_stream else {}),
            },
        )

    def installation(self) -> Installation:
        from brokerlab.brokers.rabbitmq.install import installation

        return installation()

    def install(self, progress: Progress) -> Installation:
        from brokerlab.brokers.rabbitmq.install import install

        return install(progress)

    def problems(self, cell: CellPlan) -> list[str]:
        from brokerlab.brokers.rabbitmq.settings import problems

        return problems(cell)

    def cluster(self, cell: CellPlan, directory: Path, logs: Path) -> Cluster:
        from brokerlab.brokers.rabbitmq.cluster import RabbitCluster
        from brokerlab.brokers.rabbitmq.install import installed_programs

        return RabbitCluster(cell, installed_programs(), directory, logs)

    def admin(self, endpoint: Endpoint, cell: CellPlan) -> Admin:
        from brokerlab.brokers.rabbitmq.admin import RabbitAdmin

        return RabbitAdmin(endpoint, cell)

    def producer(self, plan: AgentPlan, number: int) -> Producer:
        if kind_of(plan.broker) == "stream":
            from brokerlab.brokers.rabbitmq.stream_producer import StreamProducer

            return StreamProducer(plan, number)
        from brokerlab.brokers.rabbitmq.producer import AmqpProducer

        return AmqpProducer(plan, number)

    def consumer(self, plan: AgentPlan, number: int) -> Consumer:
        if kind_of(plan.broker) == "stream":
            from brokerlab.brokers.rabbitmq.stream_consumer import StreamConsumer

            return StreamConsumer(plan, number)
        from brokerlab.brokers.rabbitmq.consumer import AmqpConsumer

        return AmqpConsumer(plan, number)

    def probe(self, nodes: tuple[NodeInfo, ...]) -> BrokerProbe | None:
        from brokerlab.brokers.rabbitmq.probe import RabbitProbe

        return RabbitProbe(nodes)


CLASSIC = RabbitBroker("classic")
QUORUM = RabbitBroker("quorum")
STREAM = RabbitBroker("stream")
