"""Kafka's front door."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from brokerlab.brokers.contract import Capabilities, TestHints
from brokerlab.brokers.kit.durability import ALL_LEVELS, ONE_NODE_LEVELS
from brokerlab.brokers.kit.front_door import FrontDoor, NativePath, Parts
from brokerlab.brokers.kit.recipes import FromMaven
from brokerlab.model.plan import AgentPlan


@dataclass(frozen=True)
class KafkaFrontDoor(FrontDoor):
    """librdkafka never gives up on a wrong password, so it is tried once before a driver is made."""

    def driver(self, plan: AgentPlan, role: str) -> Any:
        from brokerlab.brokers.kafka.access import check_access

        if plan.endpoint.security is not None:
            check_access(plan.endpoint, plan.client_settings)
        return super().driver(plan, role)


BROKER = KafkaFrontDoor(
    name="kafka",
    product="Apache Kafka",
    runs="Apache Kafka 4.3 (KRaft) from Maven artifacts",
    folder=__package__,
    capabilities=Capabilities(
        nodes=(1, 3, 6, 9),
        link_cap=(1, 3, 6, 9),
        durability_levels={1: ONE_NODE_LEVELS, 3: ALL_LEVELS, 6: ALL_LEVELS, 9: ALL_LEVELS},
        individual_acknowledgement=False,
        keys=True,
        acknowledgement=(
            "acks=all: every in-sync replica has the message (on disk only with flush.messages=1); "
            "acks=1: the leader has it in memory; acks=0: it was handed to the network"
        ),
        security=("tls", "password"),
        can_lose_a_node=(3, 6, 9),
        delete_by_hand="kafka-topics.sh --bootstrap-server {address} --delete --topic {name}",
    ),
    recipe=FromMaven(broker="kafka", version="4.3.1", lock_file=Path(__file__).with_name("kafka.lock")),
    parts=Parts(
        cluster="cluster:KafkaCluster",
        admin="admin:KafkaAdmin",
        producer="driver:PythonProducer",
        consumer="driver:PythonConsumer",
        probe="probe:probe",
        lag="lag:KafkaLag",
        figures_at={"jolokia": ("jolokia", "")},
    ),
    native=NativePath("native"),
    test_hints=TestHints(
        nodes_in_every_run=(1, 3),
        levels_in_every_run=False,  # they are settings of topics: tests/integration/test_kafka_cluster.py
        taken_port_in_every_run=True,
        resends=True,
        settles_after_death=False,
        advertise=lambda address: {"advertised.listeners": f"PLAINTEXT://{address}"},
    ),
)
