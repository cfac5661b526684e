"""Publishing to addresses, and receiving from a group's queues, on every pair that has some of them."""

from __future__ import annotations

from collections.abc import Sequence

from brokerlab.brokers.artemis.beans import Beans, by_pair
from brokerlab.brokers.artemis.settings import WINDOW, QueueName, client_settings
from brokerlab.brokers.kit.outcomes import OutcomeTable
from brokerlab.brokers.kit.spread import SpreadConsumer, SpreadProducer
from brokerlab.brokers.kit.stomp_drivers import StompConsumer, StompProducer
from brokerlab.model.plan import AgentPlan

# By the codes that errors begin with; README.md says what they mean.
OUTCOMES = OutcomeTable(rejected="AMQ339001 AMQ339010 AMQ229032 AMQ229213", unknown="AMQ339011 AMQ339031")


def producer(plan: AgentPlan, number: int) -> StompProducer | SpreadProducer:
    names, parts = _parts(plan, "")
    addresses = [name.address for name in names]
    settings = client_settings(plan.client_settings)
    headers, pending_bytes = {"persistent": settings["persistent"]}, int(settings["pending_bytes"])
    made = [StompProducer(part, number, addresses, headers, OUTCOMES, pending_bytes) for part, _ in parts]
    server_of = {name: server for server, (_, own) in enumerate(parts) for name in own}
    return made[0] if len(made) == 1 else SpreadProducer(made, [server_of[n] for n in names], StompProducer.path)


def consumer(plan: AgentPlan, number: int) -> StompConsumer | SpreadConsumer:
    assert plan.group is not None
    _, parts = _parts(plan, plan.group)
    made = [ArtemisConsumer(part, number, own) for part, own in parts]
    return made[0] if len(made) == 1 else SpreadConsumer(made, StompConsumer.path)


def _parts(plan: AgentPlan, group: str) -> tuple[list[QueueName], list[tuple[AgentPlan, list[QueueName]]]]:
    """A group's queues by the cell's partition numbers; and a plan for each pair that has some, and which."""
    names = [QueueName(group, d, p) for d in plan.destinations for p in range(plan.partitions)]
    pairs = by_pair(plan.endpoint, names)
    return names, [(plan.model_copy(update={"endpoint": pair}), own) for pair, own in pairs]


class ArtemisConsumer(StompConsumer):
    """See brokers.contract.Consumer. Receives from these queues, all of one pair."""

    def __init__(self, plan: AgentPlan, number: int, names: Sequence[QueueName]) -> None:
        super().__init__(plan, number)
        self._window_bytes = client_settings(plan.client_settings)[WINDOW]
        self._names = names
        self._beans = Beans(plan.endpoint)
        self._beans.make(names)  # a group that was not made before begins now
        self._start_reading()

    def _subscriptions(self) -> list[dict[str, str]]:
        # Without acknowledgements a window would never open again.
        window = {} if self._automatic else {"consumer-window-size": self._window_bytes}
        return [{"destination": f"{name.address}::{name.queue}", **window} for name in self._names]

    def _waiting(self) -> int | None:
        return self._beans.waiting(self._names)
