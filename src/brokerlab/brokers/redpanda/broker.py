"""Redpanda's front door. Clients speak Kafka's protocol to it, so producers and consumers are those of Kafka's folder,
named here and imported by no module of this one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from brokerlab.brokers.contract import Admin, Capabilities, TestHints
from brokerlab.brokers.kit.durability import ALL_LEVELS, ONE_NODE_LEVELS
from brokerlab.brokers.kit.front_door import FrontDoor, NativePath, Parts
from brokerlab.brokers.kit.recipes import ByEndpoint
from brokerlab.model.plan import AgentPlan, CellPlan, Endpoint

_KAFKA = "brokerlab.brokers.kafka"


@dataclass(frozen=True)
class RedpandaFrontDoor(FrontDoor):
    """Kafka's parts know nothing of the administration's address: they get the endpoint without it."""

    def admin(self, endpoint: Endpoint, cell: CellPlan) -> Admin:
        made: Admin = self._part(self.parts.admin)(endpoint, cell, self._part(f"{_KAFKA}.admin:KafkaAdmin"))
        return made

    def driver(self, plan: AgentPlan, role: str) -> Any:
        """librdkafka never gives up on a wrong password, so it is tried once before a driver is made."""
        endpoint = plan.endpoint.model_copy(update={"options": {}})
        if endpoint.security is not None:
            self._part(f"{_KAFKA}.access:check_access")(endpoint, plan.client_settings)
        make = super().driver(plan, role)
        return lambda plan, number: make(plan.model_copy(update={"endpoint": endpoint}), number)


BROKER = RedpandaFrontDoor(
    name="redpanda",
    product="Redpanda",
    runs="a Redpanda that you run, over Kafka's protocol",
    folder=__package__,
    capabilities=Capabilities(
        nodes=(),
        durability_levels={1: ONE_NODE_LEVELS, 3: ALL_LEVELS},
        individual_acknowledgement=False,
        keys=True,
        acknowledgement=(
            "acks=all: a majority of the replicas has the message, fsynced unless write caching is on; acks=1: the leader "
            "has it in memory; acks=0: it was handed to the network"
        ),
        security=("tls", "password"),
        delete_by_hand="rpk topic delete {name} -X brokers={address}",
        endpoint_options={
            "admin": "http://HOST:PORT of the Admin API, several with commas between them: it tells settings and figures"
        },
    ),
    recipe=ByEndpoint("redpanda", "any", "no registry that brokerlab can fetch from has a Redpanda"),
    parts=Parts(
        cluster="",
        admin="admin:RedpandaAdmin",
        producer=f"{_KAFKA}.driver:PythonProducer",
        consumer=f"{_KAFKA}.driver:PythonConsumer",
        probe="probe:RedpandaProbe",
        lag=f"{_KAFKA}.lag:KafkaLag",
    ),
    native=NativePath(f"{_KAFKA}.driver_native", "NativeProducer", "NativeConsumer"),
    test_hints=TestHints(resends=True, settles_after_death=False),
)
