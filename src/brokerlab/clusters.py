"""The cluster that runs now: a fresh one for one execution, or one kept over executions with equal server settings.

There is never more than one. Several would share the processors and the memory that one is measured on. So a cluster that
is kept is ended as soon as an execution needs another one, when a node of it has died, and after an execution that failed
or was interrupted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from brokerlab.brokers.contract import Cluster
from brokerlab.model.execution_id import ExecutionId
from brokerlab.model.plan import CellPlan
from brokerlab.take_down import LeftBehind, TakeDown


@dataclass(frozen=True)
class Held:
    """A cluster, the execution it was started for, and how many it has had, the present one included."""

    cluster: Cluster
    cell: CellPlan
    data: Path
    started_for: str
    executions: int = 1

    def is_for(self, cell: CellPlan) -> bool:
        key = cell.cluster_key()
        return key is not None and key == self.cell.cluster_key() and not self.cluster.dead_nodes()


class Clusters:
    """Holds the cluster of a run from its start to its end. Leaving the `with` block ends the one that is left."""

    def __init__(self, left_behind: LeftBehind) -> None:
        self._left_behind = left_behind
        self._held: Held | None = None

    def __enter__(self) -> Clusters:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def kept_for(self, cell: CellPlan) -> Held | None:
        """The kept cluster where it is one for this cell, now with one more execution. Any other is ended first."""
        held = self._held
        if held is not None and held.is_for(cell):
            self._held = replace(held, executions=held.executions + 1)
        else:
            self.end()
        return self._held

    def hold(self, cluster: Cluster, cell: CellPlan, data: Path, execution: ExecutionId) -> Held:
        """A cluster that is about to be started, with its data in this directory."""
        self._held = Held(cluster, cell, data, str(execution))
        return self._held

    def end(self) -> None:
        """Stop the cluster and delete its data. What cannot be deleted is a note. Idempotent."""
        held, self._held = self._held, None
        if held is not None:
            with TakeDown(self._left_behind) as down:
                self.add_end(down, held, lambda: True)

    def add_end(self, down: TakeDown, held: Held, wanted: Callable[[], bool]) -> None:
        """Steps that end the cluster, each only where it is still `wanted` by then."""
        broker = held.cell.broker

        def clean() -> None:
            if wanted():
                self._held = None
                held.cluster.clean()

        down.add(f"the data of {broker}", clean, f"delete {held.data}")
        stops = "they end with this command at the latest"
        down.add(f"processes of {broker}", lambda: held.cluster.stop() if wanted() else None, stops)
