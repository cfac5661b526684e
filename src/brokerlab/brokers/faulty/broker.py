"""The faulty broker's front door."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Literal

from brokerlab.brokers.contract import Cluster
from brokerlab.brokers.memory.broker import CAPABILITIES, MemoryBroker
from brokerlab.model.plan import CellPlan, Endpoint


class FaultyBroker(MemoryBroker):
    """The memory broker, but for its server and settings."""

    name = "faulty"
    product = "brokerlab memory broker with scripted faults"
    kind: Literal["server", "calibration"] = "calibration"
    capabilities = replace(
        CAPABILITIES,
        acknowledgement="none that can be relied on: messages are lost, doubled or damaged on purpose, and counted",
    )

    def problems(self, cell: CellPlan) -> list[str]:
        from brokerlab.brokers.faulty import settings

        return settings.problems(cell.broker_settings, cell.client_settings)

    def cluster(self, cell: CellPlan, directory: Path, logs: Path) -> Cluster:
        from brokerlab.brokers.faulty.settings import NAMES
        from brokerlab.brokers.memory.cluster import MemoryCluster
        from brokerlab.brokers.memory.settings import DEFAULTS, size_arguments

        given = cell.broker_settings
        sizes = size_arguments({k: v for k, v in given.items() if k in DEFAULTS})
        faults = json.dumps({k: v for k, v in given.items() if k in NAMES})
        module = "brokerlab.brokers.faulty.server"
        return MemoryCluster(self.name, module, [*sizes, "--faults", faults], directory, logs)


def injected(endpoint: Endpoint) -> dict[str, int]:
    """What the server has done so far, by columns of the delivery table that follow from it for every group."""
    from brokerlab.brokers.memory.connection import ask

    return {name: int(count) for name, count in ask(endpoint, {"do": "injected"}).items()}


BROKER = FaultyBroker()
