"""Is a candidate better or worse than the base? Answers for every matched cell and metric."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from brokerlab.judge.comparison import answer, smallest_difference
from brokerlab.judge.contrasts import Contrast, paired, repeats_to_tell, unpaired
from brokerlab.judge.estimates import Difference, corrected
from brokerlab.model.metrics import METRICS
from brokerlab.results.compare.matching import Match, matched
from brokerlab.results.compare.sides import Side, Subject
from brokerlab.results.compare.unlike import Unlike, unlike
from brokerlab.results.tables import FEWEST_FOR_CLAIM

Answer = Literal["better", "worse", "same", "cannot tell"]
ANSWERS: tuple[Answer, ...] = ("worse", "better", "same", "cannot tell")
TOLD_APART = 0.05  # the difference for which "n more repeats" is given
# What is asked unless metrics are named. Bytes follow from messages, latencies from send from those by schedule; send delay
# and the agents' CPU are about brokerlab, not about a broker. Each further metric makes every answer harder to give.
DEFAULT_METRICS = (
    "sent_per_s", "received_per_s", "backlog_received_per_s",
    "publish_latency_p50_ns", "publish_latency_p99_ns", "publish_latency_p999_ns",
    "end_to_end_latency_p50_ns", "end_to_end_latency_p99_ns", "end_to_end_latency_p999_ns",
)  # fmt: skip
FACTS = ("lost", "corrupted", "unexpected")  # counts where one is too many: no statistics needed


@dataclass(frozen=True)
class Answered:
    """One metric of one matched cell. `ratio` is candidate / base, with its interval; none for counts."""

    metric: str
    answer: Answer
    reason: str  # of "cannot tell"; otherwise empty
    base: float | None  # median; the sum of a count
    candidate: float | None
    n_base: int
    n_candidate: int
    paired: bool = False
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    chance: float | None = None
    smallest_difference: float | None = None
    more_repeats: int | None = None  # that would tell apart 5 %, where it cannot be told and the noise is the cause


@dataclass(frozen=True)
class ComparedCell:
    """A cell of the candidate beside the cell of the base that asks the same."""

    candidate: str  # the side's name, as it was given
    base_cell: str
    candidate_cell: str
    durability: str
    unlike: tuple[Unlike, ...]
    answers: tuple[Answered, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Compared:
    base: str
    candidates: tuple[str, ...]
    runs: tuple[tuple[str, ...], ...]  # that stand behind the base and each candidate
    tests: int  # that were corrected together
    cells: tuple[ComparedCell, ...]
    notes: tuple[str, ...] = ()

    def count(self, word: Answer) -> int:
        return sum(a.answer == word for c in self.cells for a in c.answers)


@dataclass(frozen=True)
class _Asked:
    """A metric of a match before it is answered: a contrast to be tested, or the reason why there is none."""

    metric: str
    values: tuple[list[float], list[float]]
    contrast: Contrast | None
    smallest: float
    refused: str = ""
    paired: bool = False


def compare(
    base: Side, candidates: Sequence[Side], *, metrics: Sequence[str] = DEFAULT_METRICS, allow_unlike: bool = False
) -> Compared:
    """Every candidate with the base. All tests of one call are corrected together: identical sides give any "better" or
    "worse" at all in at most 5 of 100 comparisons."""
    asked: list[tuple[Side, Match, tuple[Unlike, ...], list[_Asked]]] = []
    notes = [f"{s.name}: not analyzed and left out: {', '.join(s.left_out)}" for s in (base, *candidates) if s.left_out]
    for candidate in candidates:
        found = matched(base, candidate)
        notes += [f"only in {base.name}: {label}" for label in found.alone_in_base]
        notes += [f"only in {candidate.name}: {label}" for label in found.alone_in_candidate]
        for match in found.matches:
            differing = unlike(match.base, match.candidate, (base, candidate))
            forbidden = [str(u) for u in differing if u.forbids and not allow_unlike]
            refused = f"unlike {' and '.join(forbidden)}" if forbidden else ""
            of = [_ask(metric, match, candidate, refused) for metric in metrics if metric not in FACTS]
            asked.append((candidate, match, differing, [a for a in of if a is not None]))
    tested = [a for *_, of in asked for a in of if a.contrast is not None and not a.refused]
    estimates = [a.contrast.estimate for a in tested if a.contrast is not None]
    differences = dict(zip(map(id, tested), corrected(estimates), strict=True))
    tests = sum(e.can_claim for e in estimates)
    cells = tuple(
        ComparedCell(
            candidate.name, match.base.label, match.candidate.label, match.candidate.members[-1].durability, differing,
            (*(_answered(a, differences.get(id(a)), tests) for a in of), *_facts(match)), _notes(match, of),
        )
        for candidate, match, differing, of in asked
    )  # fmt: skip
    runs = tuple(tuple(run.name for run in side.runs) for side in (base, *candidates))
    return Compared(base.name, tuple(c.name for c in candidates), runs, tests, cells, tuple(notes))


def _ask(metric: str, match: Match, candidate: Side, refused: str) -> _Asked | None:
    """None where neither side has a value."""
    values = _values(match, metric)
    if not values[0] and not values[1]:
        return None
    smallest = smallest_difference(candidate.runs[-1].plan.smallest_difference, metric)
    doubts = [m.doubt(METRICS[metric].aspect) for s in (match.base, match.candidate) for m in s.members]
    refused = refused or next(filter(None, doubts), "")
    if min((*values[0], *values[1])) <= 0:
        return _Asked(metric, values, None, smallest, refused or "a value is zero, and zero has no ratio")
    contrast = _paired(match, metric)
    if contrast is not None:
        return _Asked(metric, values, contrast, smallest, refused, paired=True)
    if not values[0] or not values[1]:
        return _Asked(metric, values, None, smallest, refused or "only one side has a value")
    return _Asked(metric, values, unpaired(*values), smallest, refused)


def _values(match: Match, metric: str) -> tuple[list[float], list[float]]:
    """One value for each execution; one for each run, its geometric mean, where both sides have enough runs for that:
    executions of one run are more alike than those of two."""
    a, b = ([m.values.get(metric, ()) for m in s.members] for s in (match.base, match.candidate))
    if _runs_are_units(match):
        return [_middle(v) for v in a if v], [_middle(v) for v in b if v]
    return [v for of in a for v in of], [v for of in b for v in of]


def _runs_are_units(match: Match) -> bool:
    return min(len(match.base.members), len(match.candidate.members)) >= FEWEST_FOR_CLAIM


def _middle(values: Sequence[float]) -> float:
    return statistics.geometric_mean(values) if min(values) > 0 else 0.0


def _paired(match: Match, metric: str) -> Contrast | None:
    """Where both are cells of one run: their executions took turns."""
    if len(match.base.members) > 1 or len(match.candidate.members) > 1:
        return None
    (a,), (b,) = match.base.members, match.candidate.members
    base, candidate = a.by_round(metric), b.by_round(metric)
    return paired(base, candidate) if a.run == b.run and base and candidate else None


def _answered(asked: _Asked, found: Difference | None, tests: int) -> Answered:
    a, b = asked.values
    medians = (statistics.median(a) if a else None, statistics.median(b) if b else None)
    if found is None or asked.contrast is None:
        return Answered(asked.metric, "cannot tell", asked.refused, *medians, len(a), len(b), asked.paired)
    said, reason = answer(found, asked.smallest)
    word = _word(asked.metric, said)
    more = None
    if said in ("higher", "lower") and word == "cannot tell":
        reason = f"it is {said}, and neither is better"
    elif word == "cannot tell":
        if found.chance is None:
            reason = f"repeats: {found.pairs}, needed: {FEWEST_FOR_CLAIM}"
        needed = repeats_to_tell(asked.contrast, TOLD_APART, max(tests, 1))
        more = None if needed is None else max(needed - found.pairs, 0)
        reason = f"{reason}; {_more_text(more, asked.contrast)}"
    low, high = found.interval or (None, None)
    return Answered(
        asked.metric, word, reason, *medians, len(a), len(b), asked.paired, found.ratio, low, high, found.chance,
        asked.smallest, more,
    )  # fmt: skip


def _word(metric: str, said: str) -> Answer:
    if said == "same":
        return "same"
    if said == "cannot tell" or METRICS[metric].better is None:
        return "cannot tell"
    return "better" if said == METRICS[metric].better else "worse"


def _more_text(more: int | None, contrast: Contrast) -> str:
    if more is None:
        return (
            "one repeat shows no noise"
            if contrast.estimate.degrees <= 0
            else "no number of repeats would tell apart 5 %"
        )
    if more == 0:
        return "a difference of 5 % would show with these repeats"
    return f"{more:,} more repeat{'s' if more > 1 else ''} would tell apart 5 %"


def _facts(match: Match) -> list[Answered]:
    """Lost, corrupted and unexpected messages: one is worse than none, whatever else the run is worth."""
    found = []
    for metric in FACTS:
        a, b = (_counted(s, metric) for s in (match.base, match.candidate))
        if a is None or b is None:
            continue
        doubts = [m.doubt("delivery") for s in (match.base, match.candidate) for m in s.members]
        doubt = next(filter(None, doubts), "")
        word: Answer = "cannot tell"
        if a[0] == 0 and b[0] > 0:
            word, doubt = "worse", ""
        elif a[0] > 0 and b[0] > 0:
            doubt = doubt or "both have some"
        elif not doubt:
            word = "same" if a[0] == b[0] else "better"
        found.append(Answered(metric, word, doubt, a[0], b[0], a[1], b[1]))
    return found


def _counted(subject: Subject, metric: str) -> tuple[float, int] | None:
    """Sum and number of executions; None where nothing looked."""
    values = [v for m in subject.members for v in m.values.get(metric, ())]
    return (math.fsum(values), len(values)) if values else None


def _notes(match: Match, asked: Sequence[_Asked]) -> tuple[str, ...]:
    runs = len(match.base.members), len(match.candidate.members)
    notes = []
    if not asked:
        doubts = [m.doubt("rates") for s in (match.base, match.candidate) for m in s.members]
        notes.append("neither side has a figure" + next((f": {d}" for d in doubts if d), ""))
    if max(runs) > 1 and not _runs_are_units(match):
        notes.append(
            f"{runs[0]} and {runs[1]} runs: from {FEWEST_FOR_CLAIM} on each side, whole runs are compared, and what "
            "differs from run to run then counts as noise; with fewer it may pass for a difference"
        )
    same_run = max(runs) == 1 and match.base.members[0].run == match.candidate.members[0].run
    if same_run and not all(a.paired for a in asked):
        notes.append("some metrics are compared without pairs: an execution lacks a value")
    return tuple(notes)
