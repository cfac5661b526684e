"""Producers in C; consumers with markers are in Python always."""

from __future__ import annotations

from brokerlab.brokers.kafka.kmq.consumer import KmqConsumer
from brokerlab.brokers.kafka.native import available, producer
from brokerlab.model.plan import AgentPlan

__all__ = ["available", "consumer", "producer"]


def consumer(plan: AgentPlan, number: int) -> KmqConsumer:
    return KmqConsumer(plan, number)
