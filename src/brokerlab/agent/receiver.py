"""One consumer at work: what arrives is checked, timed, numbered and acknowledged."""

from __future__ import annotations

from brokerlab.agent.ledger import ConsumerTotals, LedgerShape, Rows, consumer_ledger
from brokerlab.brokers.contract import Consumer
from brokerlab.model.blocks import Int64s
from brokerlab.model.plan import AgentPlan


class Receiver:
    """One consumer of an agent: connection and ledger."""

    def __init__(self, plan: AgentPlan, number: int, client: Consumer) -> None:
        assert plan.consumers is not None
        self.number = number
        self.client = client
        self._plan = plan
        self._acknowledges = plan.consumers.acknowledge != "automatic"
        self._receive_most = plan.consumers.receive_most
        self.ledger = consumer_ledger(
            LedgerShape(
                producers=plan.producers_in_cell,
                destinations=len(plan.destinations),
                partitions=plan.partitions,
                run_tag=plan.run_tag,
                keep_messages=plan.keep_messages,
            )
        )

    def begin(self, start_ns: int, unix_minus_mono_ns: int) -> None:
        measure_from_ns = start_ns + round(self._plan.phases.warm_up_s * 1e9)
        self.ledger.start(unix_minus_mono_ns, measure_from_ns)

    def receive(self, deadline_ns: int) -> int:
        """Take what is there, or the first that comes before the deadline. Returns how many."""
        deliveries = self.client.receive(self._receive_most, deadline_ns)
        n = len(deliveries)
        if n:
            self.ledger.received(deliveries, getattr(self.client, "epoch", 0))
            if self._acknowledges:
                self.client.acknowledge(deliveries)
        if deliveries.release is not None:
            deliveries.release()
        return n

    def highest(self) -> Int64s:
        return self.ledger.highest()

    def totals(self) -> ConsumerTotals:
        return self.ledger.totals()

    def take(self) -> Rows:
        return self.ledger.take()

    def close(self, deadline_ns: int) -> None:
        self.client.close(deadline_ns)
