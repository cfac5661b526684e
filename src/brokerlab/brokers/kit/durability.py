"""The four levels: from what an acknowledgement waits for, and back to what a cell must ask for."""

from __future__ import annotations

from brokerlab.brokers.contract import CellProblem, ComputedDurability
from brokerlab.model.plan import CellPlan, Durability

ALL_LEVELS = tuple(Durability)
ONE_NODE_LEVELS = (Durability.L3, Durability.L4)
_LEVELS = {
    (True, True): Durability.L1,
    (True, False): Durability.L2,
    (False, True): Durability.L3,
    (False, False): Durability.L4,
}


def level_of(*, replicated: bool, fsynced: bool) -> Durability:
    """`replicated`: an acknowledgement waits for a second copy. `fsynced`: every copy that it waits for is on disk."""
    return _LEVELS[replicated, fsynced]


def wants_replicas(level: Durability) -> bool:
    return level in (Durability.L1, Durability.L2)


def wants_fsync(level: Durability) -> bool:
    return level in (Durability.L1, Durability.L3)


def other_level(cell: CellPlan, planned: ComputedDurability) -> list[CellProblem]:
    """Settings that lead to another level than the cell asks for."""
    if planned.level == cell.durability:
        return []
    because = ", ".join(f"{name} {value}" for name, value in planned.because.items())
    return [CellProblem(("durability",), f"{because} give {planned.level}, not {cell.durability}")]
