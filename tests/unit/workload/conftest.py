"""Two small brokers to plan against: `able` can do everything on 1 or 3 nodes, `plain` next to nothing on one.
`kafka` cannot start a killed node again."""

from __future__ import annotations

import pytest

from brokerlab.brokers.contract import Capabilities, CellProblem
from brokerlab.errors import NotFoundError
from brokerlab.model.plan import Durability

L1, L2, L3, L4 = Durability


def capabilities(*, able: bool, restarts: bool) -> Capabilities:
    return Capabilities(
        nodes=(1, 3) if able else (1,),
        durability_levels={1: (L3, L4), 3: (L1, L2)} if able else {1: (L4,)},
        partitions=able,
        groups=able,
        competing_consumers=able,
        keeps_backlog=able,
        replay=able,
        individual_acknowledgement=able,
        redelivery=able,
        positions=able,
        acknowledgement="a promise",
        can_lose_a_node=(3,) if able else (),
        can_restart_a_node=restarts,
    )


class PlannedBroker:
    """As much of a broker as planning asks for; it knows a few settings of servers."""

    def __init__(self, name: str, *, able: bool) -> None:
        self.name = name
        self.capabilities = capabilities(able=able, restarts=name != "kafka")

    def problems(self, cell):
        known = ("flush.messages", "threads", "broker.session.timeout.ms")
        found = [CellProblem(("broker_settings", s), "no such setting") for s in cell.broker_settings if s not in known]
        if cell.broker_settings.get("threads") == "0":
            found += [CellProblem(("durability",), "never without threads")]
        return found


BROKERS = {
    "able": PlannedBroker("able", able=True),
    "other": PlannedBroker("other", able=True),
    "plain": PlannedBroker("plain", able=False),
    "kafka": PlannedBroker("kafka", able=True),
    "kafka-kmq": PlannedBroker("kafka-kmq", able=True),
    "nats": PlannedBroker("nats", able=True),
}


@pytest.fixture
def broker_named():
    def named(name: str):
        if name not in BROKERS:
            raise NotFoundError(f"no broker is called {name!r}", hint="Known: able, other, plain")
        return BROKERS[name]

    return named


@pytest.fixture
def written(tmp_path):
    """Write a workload file and give its path."""

    def write(text: str):
        path = tmp_path / "w.yaml"
        path.write_text(text)
        return path

    return write
