"""Which of the paths in C a plan gets: Kafka's protocol spoken by ourselves, or librdkafka for what that does not do."""

from __future__ import annotations

from brokerlab.brokers.contract import Consumer, Producer
from brokerlab.brokers.kafka.driver_fetch import FetchConsumer, can_read
from brokerlab.brokers.kafka.driver_native import NativeConsumer, NativeProducer, available
from brokerlab.brokers.kafka.driver_produce import ProduceProducer, can_write
from brokerlab.model.plan import AgentPlan

__all__ = ["available", "consumer", "producer"]


def producer(plan: AgentPlan, number: int) -> Producer:
    return ProduceProducer(plan, number) if can_write(plan) else NativeProducer(plan, number)


def consumer(plan: AgentPlan, number: int) -> Consumer:
    return FetchConsumer(plan, number) if can_read(plan) else NativeConsumer(plan, number)
