"""Sets of consumers that start later than the first send: which of them start now, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from brokerlab.model.plan import AgentPlan, CellPlan, ConsumersPlan

SECOND_NS = 1_000_000_000


@dataclass(frozen=True)
class Due:
    """A set that starts now. `reached`: for the reason that was planned, not only because everything was sent."""

    consumers: ConsumersPlan
    agents: list[AgentPlan]
    because: str
    reached: bool = True
    all_sent: bool = False


class LateSets:
    """Those that have not started yet, of one execution whose first message is due at `start_mono_ns`."""

    def __init__(self, cell: CellPlan, agents: Sequence[AgentPlan], start_mono_ns: int) -> None:
        self._measure_from_ns = start_mono_ns + round(cell.phases.warm_up_s * SECOND_NS)
        self._waiting = {of.name: of for of in cell.consumer_sets if of.starts_late}
        self._agents = agents

    def is_due(self, now_mono_ns: int, sent_bytes: int) -> bool:
        """Whether a set is to start while producers go on."""
        return any(self._why(of, now_mono_ns, sent_bytes) for of in self._waiting.values())

    def take(self, now_mono_ns: int, sent_bytes: int, *, all_sent: bool) -> list[Due]:
        """Those that start now, with their agents; each is given once. When everything was sent, all that are left."""
        found = []
        for of in list(self._waiting.values()):
            why = self._why(of, now_mono_ns, sent_bytes)
            if why or all_sent:
                del self._waiting[of.name]
                mine = [plan for plan in self._agents if plan.consumers == of]
                reached = bool(why) or of.start == "after_backlog"
                found.append(Due(of, mine, why or "everything was sent", reached, all_sent))
        return found

    def _why(self, of: ConsumersPlan, now_mono_ns: int, sent_bytes: int) -> str:
        if of.start == "after" and now_mono_ns >= self._measure_from_ns + round((of.start_after_s or 0) * SECOND_NS):
            return f"{of.start_after_s:g} s of measure were over"
        if of.start == "backlog" and sent_bytes >= (of.start_backlog_bytes or 0):
            return f"{sent_bytes:,} bytes were sent"
        return ""
