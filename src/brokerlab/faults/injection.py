"""Faults in time: a thread waits for each instant, strikes, and then asks the broker until another node has taken over,
where there is another one.

A thread of the runner, not of an agent: nothing it does or waits for delays a message.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

from brokerlab.brokers.contract import Cluster
from brokerlab.errors import BrokerError
from brokerlab.faults.ending import Ending
from brokerlab.faults.fault import Aim, Fault
from brokerlab.faults.kill import KillNode
from brokerlab.model.events import Event, FaultBegun, FaultEnded, FaultFailed, NothingTookOver, TookOver
from brokerlab.model.plan import CellPlan, FaultPlan

AIM_AHEAD_NS = 3_000_000_000  # asking who leads may take a second; the fault itself should not be late for it
ASK_EVERY_S = 0.05
TAKE_OVER_S = 60.0

Note = Callable[[Event], None]  # into the journal
KINDS: dict[str, Callable[[FaultPlan, Cluster, set[str]], Fault]] = {"kill": KillNode}


class Injection:
    """The faults of one execution. `dead` names the nodes that died by plan and were not started again.

    Notes FaultBegun, then for each fault that hit a leading node of several TookOver or NothingTookOver, and FaultEnded
    for each that does not last; FaultFailed where one did not happen.
    """

    def __init__(self, cell: CellPlan, cluster: Cluster, destination: str, note: Note) -> None:
        self._destination = destination
        self._note = note
        self._nodes = cell.nodes
        self._measure_ns = round(cell.phases.measure_s * 1e9)
        self.dead: set[str] = set()
        self._planned: Sequence[tuple[FaultPlan, Fault]] = [
            (plan, KINDS[plan.kind](plan, cluster, self.dead)) for plan in cell.faults
        ]
        self._endings: list[Ending] = []
        self._cancelled = threading.Event()
        self._thread: threading.Thread | None = None
        self._error: Exception | None = None

    def check(self) -> None:
        """Before any load: raises UserError for a fault that could never happen."""
        for _, fault in self._planned:
            fault.check()

    def start(self, measure_from_mono_ns: int) -> None:
        self._thread = threading.Thread(target=self._run, args=(measure_from_mono_ns,), name="faults", daemon=True)
        self._thread.start()

    def failure(self) -> str | None:
        """Why a planned fault did not happen; None while all is well."""
        return None if self._error is None else f"a planned fault did not happen: {self._error}"

    def finish(self) -> None:
        """No further fault, no further question, and what has begun ends. Returns when the thread has ended or is beyond
        reach for a while."""
        self._cancelled.set()
        if self._thread is not None:
            self._thread.join(10.0)
        for ending in self._endings:
            ending.finish()

    def _run(self, measure_from_ns: int) -> None:
        try:
            for i, (plan, fault) in enumerate(self._planned):
                later = [of.at_s - plan.at_s for of, _ in self._planned[i + 1 :]]
                if not self._strike(plan, fault, measure_from_ns, min(later, default=TAKE_OVER_S)):
                    return
        except Exception as e:
            self._fail(e)

    def _fail(self, error: Exception) -> None:
        self._error = error
        self._note(FaultFailed(text=str(error) or type(error).__name__))

    def _strike(self, plan: FaultPlan, fault: Fault, measure_from_ns: int, next_after_s: float) -> bool:
        """One fault from waiting for it to what came of it; False when there was no more time for it. Where the node comes
        back it may lead again itself: then the next fault, `next_after_s` later, does not wait for another leader."""
        at_ns = measure_from_ns + round(plan.at_s * 1e9)
        if not self._wait_until(at_ns - AIM_AHEAD_NS):
            return False
        aim = fault.aim(self._destination)
        if not self._wait_until(at_ns):
            return False
        begun_ns = time.monotonic_ns()
        fault.begin(aim)
        self._note(
            FaultBegun(
                fault=plan.kind,
                target=plan.target,
                node=aim.node,
                leader=aim.leader,
                nodes=self._nodes,
                was_leading=aim.was_leading,
                at_s=plan.at_s,
                begun_mono_ns=begun_ns,
                measure_from_mono_ns=measure_from_ns,
                measure_until_mono_ns=measure_from_ns + self._measure_ns,
            )
        )
        if fault.lasts_s is not None:
            self._endings.append(Ending(lambda: self._end(plan, fault, aim), fault.lasts_s))
        if aim.was_leading and self._nodes > 1:
            within_s = TAKE_OVER_S if fault.lasts_s is None else min(TAKE_OVER_S, next_after_s)
            self._watch_take_over(fault, aim, begun_ns, within_s)
        return True

    def _end(self, plan: FaultPlan, fault: Fault, aim: Aim) -> None:
        try:
            fault.end(aim)
            self._note(FaultEnded(fault=plan.kind, node=aim.node, ended_mono_ns=time.monotonic_ns()))
        except Exception as e:
            self._fail(e)

    def _watch_take_over(self, fault: Fault, aim: Aim, begun_ns: int, most_s: float) -> None:
        """What took over, or that nothing did in that time. An execution that ends before leaves it open."""
        while (within_s := (time.monotonic_ns() - begun_ns) / 1e9) < most_s:
            node = fault.took_over(aim, self._destination)
            if node is not None:
                after_s = (time.monotonic_ns() - begun_ns) / 1e9
                self._note(TookOver(node=node, fault_node=aim.node, after_s=after_s))
                return
            if self._cancelled.wait(ASK_EVERY_S):
                break
        self._note(NothingTookOver(fault_node=aim.node, within_s=within_s))

    def _wait_until(self, mono_ns: int) -> bool:
        """False when cancelled before."""
        return not self._cancelled.wait(max((mono_ns - time.monotonic_ns()) / 1e9, 0.0))


def raise_failure(injection: Injection | None) -> None:
    """For the loop that follows the agents: a fault that did not happen ends the execution."""
    failure = None if injection is None else injection.failure()
    if failure is not None:
        raise BrokerError(failure)
