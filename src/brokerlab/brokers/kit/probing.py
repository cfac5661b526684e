"""From what servers tell about themselves to readings."""

from __future__ import annotations

import contextlib
import math
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from brokerlab.brokers.contract import NodeInfo, Reading
from brokerlab.brokers.kit.http_reader import MISREAD, read_json
from brokerlab.errors import BrokerError
from brokerlab.model.plan import Endpoint
from brokerlab.model.watched import Field, Sample, WatchedMetric, fields_of

_LINE = re.compile(r"([A-Za-z_:][\w:]*)(?:\{(.*)\})? ([^ ]+)(?: \d+)?")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
_ESCAPED = re.compile(r"\\(.)")
_EARLY_S = 0.5  # who is asked every second is not asked exactly then


def readings_of(subject: str, values: Mapping[str, object], known: Mapping[str, WatchedMetric]) -> list[Reading]:
    """Of the values that a server tells by name, those we know (see model.watched.fields_of)."""
    return [Reading.of(row, subject, float(str(values[name]))) for name, row in known.items() if name in values]


def figures_in(
    page: str, rows: Sequence[WatchedMetric], rename: Callable[[str], str] = str
) -> dict[WatchedMetric, float]:
    """What a page in Prometheus' text form says of these metrics; samples that differ in other labels are added up.
    `rename` takes from a name what should not be in it."""
    by_name: dict[str, list[tuple[WatchedMetric, set[str]]]] = {}
    for row in rows:
        if isinstance(row.source, Sample):
            by_name.setdefault(row.source.name, []).append((row, set(filter(None, row.source.labels.split(",")))))
    found: dict[WatchedMetric, float] = {}
    for line in page.splitlines():
        name = rename(line.partition("{")[0].partition(" ")[0])
        match = _LINE.fullmatch(line.strip()) if name in by_name else None
        value = math.nan if match is None else _number(match[3])
        if match is None or not math.isfinite(value):
            continue
        labels = set((match[2] or "").replace(", ", ",").split(","))
        for row, wanted in by_name[name]:
            if wanted <= labels:
                found[row] = found.get(row, 0.0) + value
    return found


def page_readings(
    subject: str, page: str, rows: Sequence[WatchedMetric], rename: Callable[[str], str] = str
) -> list[Reading]:
    """The same as readings."""
    return [Reading.of(row, subject, value) for row, value in figures_in(page, rows, rename).items()]


def samples_in(page: str, names: Collection[str]) -> Iterator[tuple[str, dict[str, str], float]]:
    """The samples of these names on a page in Prometheus' text form, with their labels."""
    for line in page.splitlines():
        if line.partition("{")[0].partition(" ")[0] in names and (match := _LINE.fullmatch(line.strip())) is not None:
            value = _number(match[3])
            if math.isfinite(value):
                labels = {name: _ESCAPED.sub(_unescaped, text) for name, text in _LABEL.findall(match[2] or "")}
                yield match[1], labels, value


def _unescaped(escape: re.Match[str]) -> str:
    return "\n" if escape[1] == "n" else escape[1]


class NowAndThen:
    """Says yes at most every `seconds`, for what costs too much to be asked every time."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._due_s = -math.inf  # monotonic

    def now(self) -> bool:
        due = time.monotonic() >= self._due_s
        if due:
            self._due_s = time.monotonic() + self._seconds - _EARLY_S
        return due


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


class NodeByNodeProbe(ABC):
    """See brokers.contract.BrokerProbe. One that does not answer, or something else than it should, gives no figures."""

    unanswered: tuple[type[Exception], ...] = ()  # what a client library raises

    def __init__(self, endpoint: Endpoint, nodes: tuple[NodeInfo, ...]) -> None:
        self._endpoint, self._nodes = endpoint, nodes
        self._kept: dict[str, Any] = {}  # connections by subject, of those that keep them

    @abstractmethod
    def _of(self, subject: str, urls: Mapping[str, str]) -> list[Reading]:
        """Of the node with these addresses."""

    def read(self) -> list[Reading]:
        readings: list[Reading] = []
        for node in self._nodes:
            with contextlib.suppress(OSError, BrokerError, *MISREAD, *self.unanswered):
                readings += self._of(f"broker:{node.name}", node.urls)
        return readings


class PagesProbe:
    """See brokers.contract.BrokerProbe. Reads pages of JSON below the address that each node has for `kind`; the fields of
    `rows` say which. Figures need no login."""

    def __init__(self, nodes: tuple[NodeInfo, ...], kind: str, rows: Sequence[WatchedMetric]) -> None:
        self._nodes, self._kind = nodes, kind
        pages = dict.fromkeys(row.source.of for row in rows if isinstance(row.source, Field))
        self._pages = {page: fields_of(rows, page) for page in pages}

    def read(self) -> list[Reading]:
        readings: list[Reading] = []
        for node in (node for node in self._nodes if self._kind in node.urls):
            for page, known in self._pages.items():
                with contextlib.suppress(OSError):
                    values = read_json(f"{node.urls[self._kind]}/{page}", 1.0)
                    readings += readings_of(f"broker:{node.name}", values, known)
        return readings


def pages_probe(kind: str, rows: Sequence[WatchedMetric]) -> Callable[[Endpoint, tuple[NodeInfo, ...]], PagesProbe]:
    """A front door's `probe` for these metrics."""
    return lambda _endpoint, nodes: PagesProbe(nodes, kind, rows)
