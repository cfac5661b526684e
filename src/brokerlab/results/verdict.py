"""verdict.json: what may be believed, with reasons, before any number."""

from __future__ import annotations

from typing import Literal

from brokerlab.errors import ExitCode
from brokerlab.model.plan import Frozen

VERDICT_SCHEMA_VERSION = 2  # 2: reasons with cause and aspects, cells with aspects

Answer = Literal["valid", "invalid", "cannot tell"]
Weight = Literal["invalid", "cannot tell", "note"]
Aspect = Literal["delivery", "rates", "latencies"]
Cause = Literal["machine", "agent", "broker", "load", "evidence"]  # who spoiled it
ASPECTS: tuple[Aspect, ...] = ("delivery", "rates", "latencies")


class Reason(Frozen):
    """One reason with its number. `weight` says what it does to the aspects it affects; a note only informs."""

    code: str  # declared in judge/, listed in docs/measurements.md
    weight: Weight
    cell: str  # empty: the whole run
    repeat: int | None  # None: the whole cell
    text: str
    value: float | None = None
    limit: float | None = None
    cause: Cause = "evidence"
    affects: tuple[Aspect, ...] = ASPECTS


class ObjectiveResult(Frozen):
    text: str
    cell: str
    met: Literal["met", "missed", "cannot tell"]
    value: float | None
    limit: float


class FaultResult(Frozen):
    """What one planned fault did; the columns of the table `fault` say how each figure is defined."""

    cell: str
    repeat: int
    number: int
    fault: str
    node: str
    nodes: int = 0  # of its cluster; 0 where it was not written
    was_leading: bool
    at_s: float
    end_s: float | None = None  # of kill, when the node was started again; None where it lasts as long as the execution
    rest_s: float
    took_over: str  # empty where no node did, or none had to
    took_over_after_s: float | None
    publish_outage_s: float | None
    publish_outage_lane_s: float | None
    publish_recovered: bool | None
    delivery_outage_s: float | None
    delivery_outage_lane_s: float | None
    delivery_recovered: bool | None
    rejected: int
    unknown: int
    lost: int
    duplicated: int
    drained: bool
    text: str  # the same in a sentence


class SetAside(Frozen):
    """An execution that does not count, because the machine or our own agents spoiled it."""

    repeat: int
    code: str
    text: str


class CellVerdict(Frozen):
    """What may be believed of one cell. `verdict` is the worst of the aspects that its question needs."""

    cell: str
    label: str
    verdict: Answer
    delivery: Answer = "valid"
    rates: Answer = "valid"
    latencies: Answer = "valid"
    needs: tuple[Aspect, ...] = ASPECTS
    because: str = ""  # in one sentence, empty where the verdict is valid
    repeats_planned: int
    repeats_finished: int  # extra executions included
    repeats_counted: int = 0
    set_aside: tuple[SetAside, ...] = ()
    durability_declared: str
    durability_computed: str | None


class Verdict(Frozen):
    schema_version: int = VERDICT_SCHEMA_VERSION
    run: str
    verdict: Answer
    complete: bool  # every planned repeat finished
    headline: str  # one sentence for people
    reasons: tuple[Reason, ...]
    delivery: dict[str, int]  # sums over the run: sent, ..., unexpected; without those about which nothing can be said
    delivery_violated: bool  # lost, corrupted or unexpected, after a full drain
    objectives: tuple[ObjectiveResult, ...]
    cells: tuple[CellVerdict, ...]
    faults: tuple[FaultResult, ...] = ()
    quarantined: tuple[str, ...]  # segments set aside, with the reason each

    def exit_code(self) -> ExitCode:
        """Delivery before validity: a lost message is a fact even where the rates are not to be believed."""
        if self.delivery_violated:
            return ExitCode.DELIVERY_VIOLATED
        if self.verdict == "invalid":
            return ExitCode.INVALID
        if any(o.met == "missed" for o in self.objectives):
            return ExitCode.OBJECTIVE_MISSED
        return ExitCode.OK
