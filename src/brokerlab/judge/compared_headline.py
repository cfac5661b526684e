"""What a comparison found, in one sentence: it stands before every number."""

from __future__ import annotations

from brokerlab.judge.compared import Answer, Answered, Compared
from brokerlab.model.metrics import METRICS

_MOST_NAMED = 4


def headline(found: Compared) -> str:
    """Worse: CELL received. · Better: ... · The same ... · No difference was found: ... · Cannot tell: ..."""
    differing = [sentence for word in ("worse", "better") if (sentence := _named(found, word))]
    if differing:
        return " ".join(differing)
    answers = [a for c in found.cells for a in c.answers]
    if not answers:
        return "Nothing to compare."
    same, open_ = found.count("same"), [a for a in answers if a.answer == "cannot tell"]
    if not open_:
        return f"The same: all {same} answers, each within the smallest difference worth calling."
    if not same:
        return f"Cannot tell: {open_[0].reason}."
    return f"No difference was found: {same} of {len(answers)} answers are the same, for {len(open_)} it cannot tell{_hidden(open_)}."


def _named(found: Compared, word: Answer) -> str:
    several = len(found.candidates) > 1
    names = [
        f"{f'{c.candidate} ' if several else ''}{c.candidate_cell} {METRICS[a.metric].words}"
        for c in found.cells
        for a in c.answers
        if a.answer == word
    ]
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return f"{word.capitalize()}: {', '.join(names[:_MOST_NAMED])}{more}." if names else ""


def _hidden(answers: list[Answered]) -> str:
    """How large a difference the widest interval leaves possible."""
    reach = [max(a.high, 1 / a.low) for a in answers if a.high is not None and a.low is not None and a.low > 0]
    return f" (differences up to {max(reach):.3g} times would not show)" if reach else ""
