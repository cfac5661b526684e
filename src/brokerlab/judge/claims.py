"""The verdict on a claim: reproduced, contradicted, cannot tell or not runnable here, with the reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from brokerlab.judge.claim_limits import SATURATED, held_back, holds_anyway
from brokerlab.judge.claim_measures import Figures, Measured, NoValueError, measured
from brokerlab.judge.claim_text import quantity, range_text, unit_of
from brokerlab.judge.estimates import ALARMS
from brokerlab.model.claims import Claim, Part, Verdict
from brokerlab.model.metrics import METRICS
from brokerlab.results.tables import FEWEST_FOR_CLAIM

Place = Literal["inside", "outside", "across", ""]


@dataclass(frozen=True)
class CellReason:
    """A reason of the verdict on a cell that is more than a note."""

    code: str
    affects: tuple[str, ...]  # aspects: delivery, rates, latencies
    text: str


@dataclass(frozen=True)
class CellFacts:
    """What is known of a cell of a study in one run."""

    cell: str
    run: str
    # What a claim can ask to be the same (model.claims.SAME); empty text where it is not known.
    facts: Mapping[str, str]
    answers: Mapping[str, str]  # aspect -> valid, invalid, cannot tell
    reasons: tuple[CellReason, ...] = ()
    finished: int = 0
    failed: int = 0
    failure: str = ""
    saturated: str = ""  # what is said of an agent that used all it could in an execution that counts, be it a note

    def saturation(self) -> str:
        """The same, or the reason where it is more than a note; empty where no agent was saturated."""
        return self.saturated or next((r.text for r in self.reasons if r.code == SATURATED), "")


@dataclass(frozen=True)
class Observed:
    """All that a claim is judged by. `absent` says why cells did not run at all, `command` what measures the others."""

    figures: Figures
    cells: Mapping[str, Sequence[CellFacts]]
    absent: Mapping[str, str]
    command: str = ""


@dataclass(frozen=True)
class JudgedPart:
    part: Part
    measured: Measured | None
    place: Place  # of the interval in the range of the claim; empty where there is none
    reason: str
    limit: str = ""  # why it decides nothing: a driver of ours was the limit

    @property
    def is_open(self) -> bool:
        """The interval reaches across, or there are too few repeats for one."""
        return self.place == "across" or (self.measured is not None and self.measured.low is None)


@dataclass(frozen=True)
class JudgedClaim:
    """`parts` are in the order of the measure; `chief` is the one that decides."""

    claim: Claim
    verdict: Verdict
    reason: str
    parts: tuple[JudgedPart, ...]

    @property
    def is_open(self) -> bool:
        """Whether more repeats may tell: a part is open, and nothing else stops the claim."""
        return self.verdict == "cannot tell" and self.reason in [p.reason for p in self.parts if p.is_open]

    @property
    def chief(self) -> JudgedPart:
        told = [p for p in self.parts if p.place == "outside" and not p.limit]
        limited = [p for p in self.parts if p.limit]
        others = (p for place in ("", "across") for p in self.parts if p.place == place)
        return next(iter([*told, *limited, *others, *self.parts]))


def error_level(looks: int) -> float:
    """The error of one look, where a claim may be looked at so many times: together they err no more than one would."""
    return ALARMS / max(looks, 1)


def judged(claim: Claim, observed: Observed, looks: int, unmet: str = "") -> JudgedClaim:
    """The verdict. Every part of several gets its share of the error, so that one of many cannot contradict by chance.
    `unmet` is what the machine lacks for this claim."""
    level = error_level(looks) / len(claim.parts)
    parts = tuple(_part(claim, part, observed, level) for part in claim.parts)
    lacking: tuple[Verdict, str] | None = ("not runnable here", unmet) if unmet else None
    stopped = lacking or _not_runnable(claim, observed) or _cannot_tell(claim, observed)
    if stopped is not None:
        return JudgedClaim(claim, *stopped, parts)
    outside = next((p for p in parts if p.place == "outside" and not p.limit), None)
    if outside is not None:
        return JudgedClaim(claim, "contradicted", outside.reason, parts)
    limited = next((p for p in parts if p.limit), None)
    if limited is not None:
        return JudgedClaim(claim, "not runnable here", limited.limit, parts)
    unclear = next((p for p in parts if p.place != "inside"), None)
    if unclear is not None:
        return JudgedClaim(claim, "cannot tell", unclear.reason, parts)
    return JudgedClaim(claim, "reproduced", "; ".join(p.reason for p in parts), parts)


def _part(claim: Claim, part: Part, observed: Observed, level: float) -> JudgedPart:
    limit = held_back(claim, part, observed.cells, observed.figures)
    try:
        found = measured(part, observed.figures, level)
    except NoValueError as error:
        return JudgedPart(part, None, "", str(error), limit.said)
    if found.low is None or found.high is None:
        return JudgedPart(part, found, "", f"repeats: {found.n}, needed: {FEWEST_FOR_CLAIM}", limit.said)
    place = part.bound.place(found.low, found.high)
    said = {"inside": "{} holds", "outside": "{} does not hold", "across": "whether {} holds cannot be told"}[place]
    unit = unit_of(part.text)
    holds = said.format(range_text(part.bound.text, unit))
    text = f"{part.text} is {quantity(found.low, unit)} to {quantity(found.high, unit)}: {holds}"
    if not limit.cells:
        return JudgedPart(part, found, place, text)
    if holds_anyway(part, limit.cells, found.low, found.high):
        return JudgedPart(part, found, place, f"{text}; {limit.said}; a faster driver would only make it clearer")
    return JudgedPart(part, found, place, f"{text}; {limit.said}", limit.said)


def _not_runnable(claim: Claim, observed: Observed) -> tuple[Verdict, str] | None:
    for cell in claim.cells:
        if cell in observed.absent:
            return "not runnable here", f"{cell}: {observed.absent[cell]}"
        runs = observed.cells.get(cell, ())
        if runs and not any(r.finished for r in runs):
            failure = next((r.failure for r in runs if r.failure), "")
            return "not runnable here", f"every execution of {cell} failed" + (f": {failure}" if failure else "")
        slower = next((p for r in runs if (p := _other_path(claim, r))), "")
        if slower:
            said = f"{cell} was driven by {slower}, which may be the limit; the claim needs a {claim.driver_path} path"
            return "not runnable here", said
    return None


def _other_path(claim: Claim, facts: CellFacts) -> str:
    """The driver path of a cell that ran, where it is not one that the claim needs."""
    taken = facts.facts.get("driver_path", "") if facts.finished else ""
    return "" if taken.startswith(claim.driver_path) else taken


def _cannot_tell(claim: Claim, observed: Observed) -> tuple[Verdict, str] | None:
    for cell in claim.cells:
        if not observed.cells.get(cell):
            how = f": `{observed.command}` measures it" if observed.command else ""
            return "cannot tell", f"{cell} is not measured yet{how}"
    return _unlike(claim, observed) or _doubted(claim, observed)


def _unlike(claim: Claim, observed: Observed) -> tuple[Verdict, str] | None:
    """What must be the same in all cells and is not."""
    for name in claim.same:
        found: dict[str, str] = {}
        for cell in claim.cells:
            for facts in observed.cells[cell]:
                if facts.finished and facts.facts.get(name):
                    found.setdefault(facts.facts[name], cell)
        if len(found) > 1:
            said = ", ".join(f"{value} in {cell}" for value, cell in found.items())
            return "cannot tell", f"{name} must be the same in all cells: {said}"
    return None


def _doubted(claim: Claim, observed: Observed) -> tuple[Verdict, str] | None:
    """A cell whose figures do not hold, unless for reasons that the claim expects, or that claim_limits looks at."""
    for part in claim.parts:
        aspects = {METRICS[name].aspect for name in (part.metric, part.of) if name in METRICS}
        for cell in part.cells:
            for facts in observed.cells[cell]:
                for aspect in sorted(aspects):
                    text = _doubt(facts, aspect, (*claim.expects, SATURATED))
                    if text:
                        return "cannot tell", f"the {aspect} of {cell} do not hold: {text}"
    return None


def _doubt(facts: CellFacts, aspect: str, expects: Sequence[str]) -> str:
    answer = facts.answers.get(aspect) or "valid"
    if answer == "valid" or not facts.finished:
        return ""
    deciding = [r for r in facts.reasons if aspect in r.affects]
    unexpected = next((r for r in deciding if r.code not in expects), None)
    if unexpected is not None:
        return f"{unexpected.text} ({unexpected.code})"
    return "" if deciding else answer
