"""May I believe it? The verdict, its reasons with their numbers, objectives and what is missing."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from brokerlab.judge.reason_lines import Kind, Line, reason_lines
from brokerlab.model.metrics import METRICS
from brokerlab.report import figures
from brokerlab.report.markup import Child, Html, join, tag
from brokerlab.report.source import Source
from brokerlab.results.verdict import ASPECTS, Aspect, CellVerdict, ObjectiveResult, Verdict

SYMBOLS = {"valid": "✓", "invalid": "✕", "cannot tell": "?", "met": "✓", "missed": "✕"}
WORDS = {"valid": "Valid", "invalid": "Invalid", "cannot tell": "Cannot tell", "not analyzed": "Not analyzed"}
_NOT_ANALYZED = "There is no verdict yet, so no number below can be relied on."
_ASPECTS_SINCE = 2  # schema version of verdict.json; before it a cell had one answer for everything
_FOUND = "The measurement can be relied on, and it found a violation."
_SHOWN_REASONS = 5


def status(word: str, kind: str | None = None) -> Html:
    """A word with its symbol: colour is never the only signal."""
    kind = kind or word
    return tag(
        "span",
        tag("span", SYMBOLS.get(kind, "?"), class_="symbol", aria_hidden="true"),
        f" {word}",
        class_=f"status {kind.replace(' ', '-')}",
    )


def verdict_section(source: Source) -> Html:
    verdict = source.verdict
    answer = verdict.verdict if verdict else "not analyzed"
    headline = verdict.headline if verdict else _NOT_ANALYZED
    broken = _broken(verdict)
    return tag(
        "header",
        tag("h1", status(WORDS[answer], answer), [[" ", status(b, "invalid")] for b in broken], class_="verdict-word"),
        tag("p", headline, class_="headline"),
        tag("p", _FOUND if broken and answer == "valid" else _meaning(verdict), class_="meaning") if verdict else None,
        _delivery(source),
        _missing(source),
        _reasons(verdict, "invalid", "Why it is invalid"),
        _reasons(verdict, "cannot tell", "What cannot be said"),
        _objectives(verdict.objectives if verdict else (), source),
        _reasons(verdict, "set aside", "Executions set aside, because the machine or our own agents spoiled them"),
        _reasons(verdict, "exception", "In single repeats of cells that are valid"),
        _reasons(verdict, "note", "Notes, without effect on the verdict: {n}"),
        _identity(source),
        id="verdict",
        class_=f"verdict {'invalid' if broken else answer.replace(' ', '-')}",
    )


def answer_on(source: Source, cell: str, metric: str) -> str:
    """What the verdict says of one figure of a cell: rates may hold where latencies do not, and a cell where others do not."""
    judged = source.cell_verdict(cell)
    if source.verdict is None or judged is None:
        return "not analyzed"
    return _answer(source.verdict, judged, METRICS[metric].aspect)


def _answer(verdict: Verdict, cell: CellVerdict, aspect: Aspect) -> str:
    return cell.verdict if verdict.schema_version < _ASPECTS_SINCE else getattr(cell, aspect)


def what_holds(source: Source, cell: str) -> str | None:
    """Which parts of a cell's verdict are valid, in words; None where all are, or the cell was not judged."""
    judged = source.cell_verdict(cell)
    if source.verdict is None or judged is None:
        return None
    held = [a for a in ASPECTS if _answer(source.verdict, judged, a) == "valid"]
    if len(held) == len(ASPECTS):
        return None
    return f"{_in_words(held)} {'holds' if held == ['delivery'] else 'hold'}" if held else "nothing holds"


def _meaning(verdict: Verdict) -> str:
    """What the verdict means for the numbers below it; where cells differ, each says itself what holds."""
    doubts = [tuple(a for a in ASPECTS if _answer(verdict, c, a) != "valid") for c in verdict.cells]
    if verdict.verdict == "valid":
        but = ", except those that are marked: the question does not need them" if any(doubts) else ""
        return f"The load was real and steady: the numbers can be relied on{but}."
    if len(set(doubts)) > 1:
        not_all = {
            "invalid": "Not all numbers below can be relied on",
            "cannot tell": "The evidence does not decide whether all numbers below hold",
        }
        return f"{not_all[verdict.verdict]}: each cell says which of its own hold. The reasons follow."
    what = "numbers" if not any(doubts) or doubts[0] == ASPECTS else _in_words(doubts[0])
    if verdict.verdict == "invalid":
        return f"Do not rely on the {what} below; the reasons follow."
    return f"The evidence does not decide whether the {what} {'holds' if what == 'delivery' else 'hold'}."


def _in_words(aspects: Sequence[Aspect]) -> str:
    return " and ".join(filter(None, (", ".join(aspects[:-1]), *aspects[-1:])))


def _broken(verdict: Verdict | None) -> list[str]:
    """What a believable run found wrong: it must not hide behind a green word."""
    if verdict is None:
        return []
    missed = any(o.met == "missed" for o in verdict.objectives)
    return ["Delivery violated"] * verdict.delivery_violated + ["Objective missed"] * missed


def _delivery(source: Source) -> Html | None:
    """One line: were messages lost, corrupted or made up? Counts as the verdict has them."""
    verdict = source.verdict
    if verdict is None or not verdict.delivery:
        return None
    if "received" not in verdict.delivery:
        word, kind = "Delivery: cannot tell, the workload has no consumers", "cannot tell"
    elif not all(source.table("delivery").columns["drained"]):
        word, kind = "Delivery: cannot tell, a drain was incomplete", "cannot tell"
    else:
        word, kind = "Delivery kept", "valid"
    order = (
        "sent",
        "acknowledged",
        "received",
        "lost",
        "duplicated",
        "reordered",
        "corrupted",
        "unexpected",
        "rejected",
        "unknown",
    )
    always = ("sent", "lost", "corrupted", "unexpected")
    counts = [
        f"{figures.count(verdict.delivery[c])} {c}"
        for c in order
        if c in verdict.delivery and (c in always or verdict.delivery[c])
    ]
    said = None if verdict.delivery_violated else [status(word, kind), " "]  # the heading says it already
    return tag("p", said, tag("span", " · ".join(counts), class_="where"), class_="delivered")


def _missing(source: Source) -> Html | None:
    sentences: list[str] = list(source.missing)
    if source.verdict is not None and not source.verdict.complete:
        done = sum(c.repeats_finished for c in source.verdict.cells)
        planned = sum(c.repeats_planned for c in source.verdict.cells)
        sentences.insert(0, f"The run is incomplete: {done} of {planned} repeats finished.")
    for name, execution in source.state.executions.items():
        if execution.state in ("failed", "interrupted", "running"):
            reason = f": {execution.reason}" if execution.reason else "."
            sentences.append(f"{name} is {execution.state}{reason}")
    if source.verdict is not None:
        sentences += [f"Could not be read: {q}" for q in source.verdict.quarantined]
    if not sentences:
        return None
    return tag(
        "div", tag("h2", "What is missing"), _listed([tag("li", s) for s in sentences]), class_="reasons missing"
    )


def _reasons(verdict: Verdict | None, kind: Kind, title: str) -> Html | None:
    lines = [line for line in reason_lines(verdict) if line.kind == kind] if verdict else []
    if not lines:
        return None
    items = [_reason(line) for line in lines]
    if kind in ("invalid", "cannot tell"):
        return tag("div", tag("h2", title), _listed(items), class_=f"reasons {kind.replace(' ', '-')}")
    return tag("details", tag("summary", title.format(n=len(items))), tag("ul", items), class_="reasons notes")


def _reason(line: Line) -> Html:
    return tag(
        "li",
        tag("span", line.where, class_="where") if line.where else None,
        tag("span", line.text, class_="text"),
        tag("code", line.worst.code, class_="code"),
    )


def _listed(items: Sequence[Child]) -> Html:
    """All items; those beyond the first few behind a line that says how many there are."""
    shown = tag("ul", items[:_SHOWN_REASONS])
    rest = items[_SHOWN_REASONS:]
    if not rest:
        return shown
    return join(shown, tag("details", tag("summary", f"{len(rest)} more"), tag("ul", rest)))


def _objectives(objectives: tuple[ObjectiveResult, ...], source: Source) -> Html | None:
    """One entry per objective, with the value of each cell; where there are many cells, of those that did not meet it."""
    if not objectives:
        return None
    items = []
    for text in dict.fromkeys(o.text for o in objectives):
        cells = [o for o in objectives if o.text == text]
        worst = min((o.met for o in cells), key=("missed", "cannot tell", "met").index)
        many = len(cells) > _SHOWN_REASONS
        named = [o for o in cells if o.met != "met"][:_SHOWN_REASONS] if many else cells
        values = [
            f"{source.label(o.cell)} {objective_value(o)}" + ("" if o.met == worst else f" ({o.met})") for o in named
        ]
        tally = [f"met by {sum(o.met == 'met' for o in cells)} of {len(cells)} cells"] if many else []
        items.append(
            tag(
                "li",
                status(worst),
                tag("span", text, class_="objective-text"),
                tag("span", " · ".join(tally + values), class_="where"),
            )
        )
    met = sum(o.met == "met" for o in objectives)
    return tag(
        "div",
        tag("h2", f"Objectives: {met} of {len(objectives)} met"),
        tag("ul", items, class_="objectives"),
        class_="reasons",
    )


def objective_value(objective: ObjectiveResult) -> str:
    """The value in the unit its text asks about."""
    if objective.value is None:
        return "no value"
    if any(m in objective.text for m in ("latency", "send_delay")):
        return figures.duration(objective.value)
    if "throughput" in objective.text:
        return figures.rate(objective.value)
    return figures.count(objective.value)


def _identity(source: Source) -> Html:
    plan = source.plan
    executions = source.state.executions.values()
    started = min((e.started_unix_s for e in executions if e.started_unix_s is not None), default=None)
    parts: list[Child] = [tag("code", source.run)]
    if started is not None:
        parts.append(datetime.fromtimestamp(started, UTC).strftime("%d %B %Y, %H:%M UTC"))
    if plan is not None:
        parts.append(f"{figures.plural(len(plan.cells), 'cell')} × {figures.plural(plan.repeats, 'repeat')}")
        if plan.tag:
            parts.append(f"tag {plan.tag}")
    facts = [tag("span", p, class_="fact") for p in parts]
    question = (
        tag("p", tag("strong", "Question. "), plan.question, class_="question") if plan and plan.question else None
    )
    return tag("div", question, tag("p", facts, class_="identity"))
