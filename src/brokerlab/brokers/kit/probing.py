"""From what servers tell about themselves to readings."""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from brokerlab.brokers.contract import NodeInfo, Reading
from brokerlab.brokers.kit.http_reader import read_json

_LINE = re.compile(r"([A-Za-z_:][\w:]*)(?:\{(.*)\})? ([^ ]+)(?: \d+)?")


def readings_of(subject: str, values: Mapping[str, object], known: Mapping[str, tuple[str, str]]) -> list[Reading]:
    """Of the values that a server tells by name, those we know: `known` has the metric and the unit of each."""
    return [
        Reading(subject, metric, float(str(values[name])), unit)
        for name, (metric, unit) in known.items()
        if name in values
    ]


@dataclass(frozen=True)
class Figure:
    """A metric of a Prometheus page and what we call it. `labels` must be among its labels; all that fit are added up."""

    name: str
    metric: str
    unit: str
    labels: str = ""


def figures_in(page: str, figures: Sequence[Figure], rename: Callable[[str], str] = str) -> dict[Figure, float]:
    """The figures that are on a page in Prometheus' text form; samples that differ in other labels are added up.
    `rename` takes from a name what should not be in it."""
    by_name: dict[str, list[Figure]] = {}
    for figure in figures:
        by_name.setdefault(figure.name, []).append(figure)
    found: dict[Figure, float] = {}
    for line in page.splitlines():
        name = rename(line.partition("{")[0].partition(" ")[0])
        match = _LINE.fullmatch(line.strip()) if name in by_name else None
        value = math.nan if match is None else _number(match[3])
        if match is None or not math.isfinite(value):
            continue
        labels = set((match[2] or "").replace(", ", ",").split(","))
        for figure in by_name[name]:
            if set(filter(None, figure.labels.split(","))) <= labels:
                found[figure] = found.get(figure, 0.0) + value
    return found


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


class PagesProbe:
    """See brokers.contract.BrokerProbe. Reads pages of JSON below the address that each node has for `kind`; `pages` has
    what is known of each. Figures need no login."""

    def __init__(
        self, nodes: tuple[NodeInfo, ...], kind: str, pages: Mapping[str, Mapping[str, tuple[str, str]]]
    ) -> None:
        self._nodes, self._kind, self._pages = nodes, kind, pages

    def read(self) -> list[Reading]:
        readings: list[Reading] = []
        for node in self._nodes:
            for page, known in self._pages.items():
                with contextlib.suppress(OSError):
                    values = read_json(f"{node.urls[self._kind]}/{page}", 1.0)
                    readings += readings_of(f"broker:{node.name}", values, known)
        return readings
