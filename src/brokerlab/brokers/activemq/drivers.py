"""Publishing to virtual topics, and receiving from a group's queues."""

from __future__ import annotations

from brokerlab.brokers.activemq.beans import Beans
from brokerlab.brokers.activemq.settings import client_settings, queue_name, topic_name
from brokerlab.brokers.kit.outcomes import OutcomeTable
from brokerlab.brokers.kit.stomp_drivers import StompConsumer, StompProducer
from brokerlab.model.plan import AgentPlan

# By the exception that ActiveMQ names. What fails later than these may be in the queues of some groups.
OUTCOMES = OutcomeTable(
    rejected="java.lang.SecurityException jakarta.jms.InvalidDestinationException",
    unknown="java.io.IOException jakarta.jms.ResourceAllocationException jakarta.jms.JMSException",
)


def producer(plan: AgentPlan, number: int) -> StompProducer:
    topics = [f"/topic/{topic_name(d, p)}" for d in plan.destinations for p in range(plan.partitions)]
    settings = client_settings(plan.client_settings)
    headers = {"persistent": settings["persistent"]}
    return StompProducer(plan, number, topics, headers, OUTCOMES, int(settings["pending_bytes"]))


class ActiveConsumer(StompConsumer):
    """See brokers.contract.Consumer."""

    def __init__(self, plan: AgentPlan, number: int) -> None:
        super().__init__(plan, number)
        self._prefetch = client_settings(plan.client_settings)["prefetch"]
        self._queues = [queue_name(self._group, d, p) for d in plan.destinations for p in range(plan.partitions)]
        self._beans = Beans(plan.endpoint)
        self._start_reading()

    def _subscriptions(self) -> list[dict[str, str]]:
        return [{"destination": f"/queue/{q}", "activemq.prefetchSize": self._prefetch} for q in self._queues]

    def _waiting(self) -> int | None:
        return self._beans.waiting(self._group, self._queues)
