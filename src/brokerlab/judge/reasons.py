"""What a reason is: a check declares once what it is about, what it may spoil and by what rule.

Adding a reason is adding one function with `@check` to a module of checks. Verdicts, pages and the runner's decision to
run an execution again all follow from the declaration.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from brokerlab.judge.findings import Findings
from brokerlab.model.execution_id import ExecutionId
from brokerlab.results.verdict import ASPECTS, Aspect, Cause, Reason, Weight

LATENCIES: tuple[Aspect, ...] = ("latencies",)
RATES_AND_LATENCIES: tuple[Aspect, ...] = ("rates", "latencies")
DELIVERY_AND_LATENCIES: tuple[Aspect, ...] = ("delivery", "latencies")
EVERYTHING: tuple[Aspect, ...] = ASPECTS


@dataclass(frozen=True)
class Found:
    """One thing a check found: about an execution, a cell (by its name) or, None, the whole run.

    `weight` overrides the declared weight, `affects` the declared aspects, where the case is milder than the rule.
    """

    about: ExecutionId | str | None
    text: str
    value: float | None = None
    limit: float | None = None
    weight: Weight | None = None
    affects: tuple[Aspect, ...] | None = None


@dataclass(frozen=True)
class Check:
    """A declared reason. `cause` says who spoiled it: only what the machine or our own agents did may be set aside."""

    code: str
    weight: Weight
    cause: Cause
    affects: tuple[Aspect, ...]
    rule: str  # for docs/measurements.md
    function: Callable[[Findings], Iterable[Found]]

    def reasons(self, findings: Findings) -> list[Reason]:
        """What the check found. A check that crashes is "cannot tell", never a pass."""
        try:
            return [self._reason(found) for found in self.function(findings)]
        except Exception as e:
            text = f"the check {self.code} itself failed: {type(e).__name__}: {e}"
            return [
                Reason(code="check_failed", weight="cannot tell", cause="evidence", affects=ASPECTS, cell="", repeat=None, text=text)
            ]  # fmt: skip

    def _reason(self, found: Found) -> Reason:
        about = found.about
        return Reason(
            code=self.code,
            weight=found.weight or self.weight,
            cause=self.cause,
            affects=self.affects if found.affects is None else found.affects,
            cell=about.cell if isinstance(about, ExecutionId) else about or "",
            repeat=about.repeat if isinstance(about, ExecutionId) else None,
            text=found.text,
            value=found.value,
            limit=found.limit,
        )


def check(
    code: str, *, weight: Weight, cause: Cause, affects: tuple[Aspect, ...], rule: str
) -> Callable[[Callable[[Findings], Iterable[Found]]], Check]:
    """Declare a function of `Findings` as a check."""

    def declare(function: Callable[[Findings], Iterable[Found]]) -> Check:
        return Check(code, weight, cause, affects, rule, function)

    return declare
