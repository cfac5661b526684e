"""Kafka's front door with individual acknowledgement: the same servers, another way to consume."""

from __future__ import annotations

from dataclasses import replace

from brokerlab.brokers.contract import Admin, Consumer
from brokerlab.brokers.kafka.broker import KafkaBroker, check_plan_access
from brokerlab.brokers.kafka.kmq.markers import TIMEOUT_SETTING
from brokerlab.model.plan import AgentPlan, CellPlan, Endpoint


class KmqBroker(KafkaBroker):
    """See the broker contract's Broker."""

    name = "kafka-kmq"
    product = "Apache Kafka with KMQ markers"
    capabilities = replace(KafkaBroker.capabilities, individual_acknowledgement=True, redelivery=True)

    def problems(self, cell: CellPlan) -> list[str]:
        given = cell.client_settings.get(TIMEOUT_SETTING, "1")
        kafkas = {name: value for name, value in cell.client_settings.items() if name != TIMEOUT_SETTING}
        problems = super().problems(cell.model_copy(update={"client_settings": kafkas}))
        if not given.isdecimal() or int(given) < 1:
            problems.append(f"client_settings.{TIMEOUT_SETTING}: must be milliseconds, not {given!r}")
        if cell.driver == "native":
            problems.append("driver: consumers with markers have no native path; use auto or python")
        return problems

    def admin(self, endpoint: Endpoint, cell: CellPlan) -> Admin:
        from brokerlab.brokers.kafka.kmq.admin import KmqAdmin

        return KmqAdmin(endpoint, cell)

    def consumer(self, plan: AgentPlan, number: int) -> Consumer:
        from brokerlab.brokers.kafka.kmq.consumer import KmqConsumer

        check_plan_access(plan)
        return KmqConsumer(plan, number)


BROKER = KmqBroker()
