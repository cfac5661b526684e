"""Measures and ranges of claims as people write them, parsed: `ratio(fast, slow, sent_per_s)`, `> 1`, `0.95 to 1.05`.

measure = call | "all(" item ("," item)* ")"
item    = call [range]                    a part of `all` may have a range of its own; else it is the claim's
call    = name "(" argument ("," argument)* ")"
rank's last argument may be "while" metric "below" limit
range   = (">" | ">=" | "<" | "<=" | "==") number | ("above" | "at least" | "below" | "at most") number
        | number "to" number
"""

from __future__ import annotations

import difflib
import fnmatch
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from brokerlab.judge.claim_measures import CountedWhile
from brokerlab.model.claims import KINDS, Bound, Part, Window
from brokerlab.model.metrics import METRICS
from brokerlab.model.quantities import parse_duration_s, parse_number

CONFIGURED = "configured"
WHILE = "while"
_TOKEN = re.compile(r"\s*(?:([A-Za-z0-9_*][A-Za-z0-9_.*-]*)|(>=|<=|==|[(),<>])|(\S))")
_WORDS = {"above": ">", "at least": ">=", "below": "<", "at most": "<="}
_COMPARISONS = (">=", "<=", "==", ">", "<")
PER_SECOND = ("sent_per_s", "received_per_s")  # besides quantiles of latencies


class LanguageError(ValueError):
    """What is wrong in an expression, and the name that was probably meant."""

    def __init__(self, message: str, nearest: str | None = None) -> None:
        super().__init__(message)
        self.nearest = nearest


@dataclass(frozen=True)
class _Token:
    text: str
    at: int  # character, from 1


@dataclass(frozen=True)
class _Call:
    name: _Token
    arguments: tuple[tuple[_Token, ...], ...]
    text: str
    range: Bound | None


def is_per_second(metric: str) -> bool:
    """Whether a metric is known of single seconds: what `during` looks at, and what a figure can draw over time."""
    return metric in PER_SECOND or metric.endswith("_ns")


def parse_bound(text: str) -> Bound:
    """Raises LanguageError for what is no range."""
    words = " ".join(str(text).split())
    for word, sign in _WORDS.items():
        if words.startswith(word + " "):
            return _compared(sign, words[len(word) + 1 :], words)
    for sign in _COMPARISONS:
        if words.startswith(sign):
            return _compared(sign, words[len(sign) :].strip(), words)
    low, to, high = words.partition(" to ")
    if not to:
        raise LanguageError("must be a range such as > 1, at least 2, below 0.5 or 0.95 to 1.05")
    bound = Bound(words, _number(low), _number(high), low_open=False, high_open=False)
    if bound.low > bound.high:
        raise LanguageError("must go from the lower number to the higher one")
    return bound


def _compared(sign: str, number: str, text: str) -> Bound:
    limit = _number(number)
    if sign == "==":
        return Bound(text, limit, limit, low_open=False, high_open=False)
    if sign in (">", ">="):
        return Bound(text, low=limit, low_open=sign == ">")
    return Bound(text, high=limit, high_open=sign == "<")


def _number(text: str) -> float:
    negative = text.strip().startswith("-")
    try:
        value = parse_number(text.strip().removeprefix("-"))
    except ValueError:
        raise LanguageError(f"{text.strip()!r} is not a number") from None
    return -value if negative else value


def parse_measure(
    text: str, holds: Bound | None, cells: Sequence[str], metrics: Collection[str] = METRICS
) -> tuple[Part, ...]:
    """The parts of a measure over `cells`, each with the range in which it holds. Raises LanguageError."""
    parser = _Parser(text)
    calls = parser.measure()
    parts = []
    for call in calls:
        bound = call.range or holds
        if bound is None:
            raise LanguageError(f"{call.text} has no range: write one after it, such as > 1, or give the claim `holds`")
        parts.append(_part(call, bound, cells, metrics))
    return tuple(parts)


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[_Token] = []
        for match in _TOKEN.finditer(text):
            name, sign, other = match.groups()
            if other is not None:
                raise LanguageError(f"{other!r} at character {match.start(3) + 1} is not expected in a measure")
            start = match.start(1) if name else match.start(2)
            self.tokens.append(_Token(name or sign, start + 1))
        self.next = 0

    def measure(self) -> list[_Call]:
        if self._peek() == "all":
            self._take()
            self._expect("(")
            calls = [self._item()]
            while self._peek() == ",":
                self._take()
                calls.append(self._item())
            self._expect(")")
        else:
            calls = [self._item()]
        if self.next < len(self.tokens):
            left = self.tokens[self.next]
            raise LanguageError(
                f"{left.text!r} at character {left.at} is more than one measure: join them with all(...)"
            )
        return calls

    def _item(self) -> _Call:
        begin = self.next
        name = self._take("a measure such as ratio(a, b, sent_per_s)")
        self._expect("(")
        arguments = [self._argument()]
        while self._peek() == ",":
            self._take()
            arguments.append(self._argument())
        self._expect(")")
        text = self._written(begin, self.next)
        begin = self.next
        while self._peek() not in (None, ",", ")"):
            self._take()
        said = self._written(begin, self.next)
        return _Call(name, tuple(arguments), text, parse_bound(said) if said else None)

    def _argument(self) -> tuple[_Token, ...]:
        found = []
        while self._peek() not in (None, ",", ")", "("):
            found.append(self._take())
        if not found:
            raise LanguageError(f"an argument is missing at character {self._place()}")
        return tuple(found)

    def _written(self, begin: int, end: int) -> str:
        if begin == end:
            return ""
        first, last = self.tokens[begin], self.tokens[end - 1]
        return " ".join(self.text[first.at - 1 : last.at - 1 + len(last.text)].split())

    def _peek(self) -> str | None:
        return self.tokens[self.next].text if self.next < len(self.tokens) else None

    def _place(self) -> int:
        return self.tokens[self.next].at if self.next < len(self.tokens) else len(self.text) + 1

    def _take(self, wanted: str = "more") -> _Token:
        if self.next >= len(self.tokens):
            raise LanguageError(f"the measure ends where {wanted} must follow")
        self.next += 1
        return self.tokens[self.next - 1]

    def _expect(self, sign: str) -> None:
        if self._peek() != sign:
            found = "the end" if self._peek() is None else repr(self._peek())
            raise LanguageError(f"must have {sign!r} at character {self._place()}, found {found}")
        self._take()


def _part(call: _Call, bound: Bound, cells: Sequence[str], metrics: Collection[str]) -> Part:
    kind = call.name.text
    if kind not in KINDS:
        near = difflib.get_close_matches(kind, [*KINDS, "all"], n=1)
        known = "" if near else f"; known: {', '.join(KINDS)}, all"
        raise LanguageError(f"no measure is called {kind} (character {call.name.at}){known}", near[0] if near else None)
    arguments = list(call.arguments)
    windows: tuple[Window, ...] = ()
    of = ""
    if kind == "during":
        if len(arguments) != 4:
            raise LanguageError(f"must be {KINDS[kind][2]}")
        windows = (_window(arguments.pop(2)), _window(arguments.pop()))
    if kind == "share":
        if len(arguments) != 3:
            raise LanguageError(f"must be {KINDS[kind][2]}")
        of = _metric(_single(arguments.pop()), {*metrics, CONFIGURED})
    counts = _counts(arguments.pop(), metrics) if kind == "rank" and arguments[-1][0].text == WHILE else None
    bucket_ns = 0
    if kind == "bucketed":
        if len(arguments) != 3:
            raise LanguageError(f"must be {KINDS[kind][2]}")
        bucket_ns = _width_ns(_single(arguments.pop()))
        metrics = [m for m in metrics if m.endswith("_ns")]
    metric = _metric(_single(arguments.pop()), metrics, over_time=kind == "during")
    named = tuple(dict.fromkeys(cell for a in arguments for cell in _cells(_single(a), cells)))
    fewest, most, usage = KINDS[kind]
    if len(named) < fewest or (most is not None and len(named) > most):
        raise LanguageError(f"must be {usage}; {call.text} names {len(named)} different cells")
    if counts is not None:
        return CountedWhile(call.text, kind, named, metric, bound, of, windows, bucket_ns, *counts)
    return Part(call.text, kind, named, metric, bound, of, windows, bucket_ns)


def _counts(tokens: tuple[_Token, ...], metrics: Collection[str]) -> tuple[str, float, str]:
    """`while METRIC below LIMIT`: the metric, the limit in its unit and as written."""
    if len(tokens) != 4 or tokens[2].text != "below":
        said = " ".join(t.text for t in tokens)
        raise LanguageError(
            f"{said!r} at character {tokens[0].at} must be like: while end_to_end_latency_p95_ns below 5s"
        )
    metric, limit = _metric(tokens[1], metrics), tokens[3]
    try:
        below = parse_duration_s(limit.text) * 1e9 if metric.endswith("_ns") else parse_number(limit.text)
    except ValueError as error:
        raise LanguageError(f"{limit.text!r} at character {limit.at} {error}") from None
    return metric, below, limit.text


def _single(tokens: tuple[_Token, ...]) -> _Token:
    if len(tokens) > 1:
        raise LanguageError(f"{tokens[1].text!r} at character {tokens[1].at}: a comma is missing before it")
    return tokens[0]


def _metric(token: _Token, metrics: Collection[str], *, over_time: bool = False) -> str:
    known = [m for m in metrics if not over_time or is_per_second(m)]
    if token.text in known:
        return token.text
    near = difflib.get_close_matches(token.text, known, n=1)
    where = " second by second" if over_time else ""
    raise LanguageError(f"no metric is called {token.text}{where} (character {token.at})", near[0] if near else None)


def _cells(token: _Token, cells: Sequence[str]) -> list[str]:
    """The cell, or those that a pattern with * means, in their order."""
    found = [c for c in cells if c == token.text] or (
        [c for c in cells if fnmatch.fnmatchcase(c, token.text)] if "*" in token.text else []
    )
    if found:
        return found
    near = difflib.get_close_matches(token.text, cells, n=1)
    raise LanguageError(f"no cell is called {token.text} (character {token.at})", near[0] if near else None)


def _width_ns(token: _Token) -> int:
    try:
        width_ns = round(parse_duration_s(token.text) * 1e9)
    except ValueError:
        width_ns = 0
    if width_ns < 1:
        raise LanguageError(f"{token.text!r} at character {token.at} must be the width of a bucket, such as 50ms")
    return width_ns


def _window(tokens: tuple[_Token, ...]) -> Window:
    texts = [t.text for t in tokens]
    try:
        if len(texts) != 3 or texts[1] != "to":
            raise ValueError
        window = Window(parse_duration_s(texts[0]), parse_duration_s(texts[2]))
    except ValueError:
        raise LanguageError(
            f"{' '.join(texts)!r} at character {tokens[0].at} must be a window such as 10s to 20s"
        ) from None
    if window.from_s >= window.to_s:
        raise LanguageError(f"{' '.join(texts)!r} at character {tokens[0].at} must end after it begins")
    return window
