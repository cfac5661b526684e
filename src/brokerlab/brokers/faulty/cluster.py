"""The faulty server as a child process."""

from __future__ import annotations

import json

from brokerlab.brokers.faulty.settings import NAMES
from brokerlab.brokers.memory.cluster import MemoryCluster
from brokerlab.model.plan import CellPlan


class FaultyCluster(MemoryCluster):
    """See brokers.contract.Cluster."""

    module = "brokerlab.brokers.faulty.server"

    @staticmethod
    def arguments(cell: CellPlan) -> list[str]:
        faults = json.dumps({k: v for k, v in cell.broker_settings.items() if k in NAMES})
        return [*MemoryCluster.arguments(cell), "--faults", faults]
