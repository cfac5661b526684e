"""`brokers: all`: every server broker that runs here. Those that cannot do what is asked are left out, with the reason."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from brokerlab.brokers.contract import Broker, CellProblem
from brokerlab.errors import Problem
from brokerlab.model.plan import Endpoint, LeftOut
from brokerlab.workload.fields import ALL, Workload
from brokerlab.workload.tree import SETTINGS, Tree

BrokerNamed = Callable[[str], Broker]


@dataclass
class AllBrokers:
    """The brokers there are. `left_out` fills while combinations are planned."""

    known: Sequence[str]
    broker_named: BrokerNamed
    endpoints: Mapping[str, Endpoint]
    left_out: dict[LeftOut, None] = field(default_factory=dict)
    _why_not: dict[str, str] = field(default_factory=dict)

    @staticmethod
    def asked_for(workload: Workload) -> bool:
        return workload.brokers == (ALL,)

    def names(self) -> list[str]:
        """Server brokers that run here, or that the user runs; the others are noted as left out."""
        servers = [name for name in self.known if self.broker_named(name).kind == "server"]
        for name in servers:
            if name not in self._why_not:
                here = None if name in self.endpoints else self.broker_named(name).installation()
                self._why_not[name] = "" if here is None or here.runs_here else f"does not run here: {here.reason}"
            if self._why_not[name]:
                self.left_out[LeftOut(broker=name, reason=self._why_not[name])] = None
        return [name for name in servers if not self._why_not[name]]

    def leave_out(self, name: str, refusals: list[CellProblem], tree: Tree) -> tuple[list[CellProblem], bool]:
        """What of the refusals is the user's mistake, a setting written for this broker; and whether it is left out for
        the others, which it cannot do."""
        mistakes = [one for one in refusals if one.field[0] in SETTINGS and tree.get(one.field) is not None]
        reasons = [one.message for one in refusals if one not in mistakes]
        for reason in reasons:
            self.left_out[LeftOut(broker=name, reason=reason.removeprefix(f"{name}: ").removeprefix(f"{name} "))] = None
        return mistakes, bool(reasons)

    def none_left(self, tree: Tree) -> list[Problem]:
        """One line for each broker, when none is left; one when there are none at all."""
        said = [f"{one.broker} {one.reason}" for one in self.left_out] or ["no server broker is known"]
        return [tree.problem(("brokers",), f"no broker can do this: {text}") for text in said]
