"""One row of the table of metrics: what is watched, where it is read, in which unit, and what others call it.

Rows stand where their source is known: those of hosts, processes, JVMs and load in `watched_here.py`, those of a broker in
its folder's `metrics.py`. `monitor/table.py` puts them together; probes, exporters, the configurations of other tools and
the documentation are made from them, so that a bean, a unit or a name is written once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

Scope = Literal["host", "process", "cluster", "jvm", "broker", "destination", "group", "load"]


@dataclass(frozen=True)
class Bean:
    """An attribute of a JVM's management beans. `name` may be a pattern: what several beans say is added up. `part` is a
    key within a composite value; `scale` turns what the bean says into the unit of the reading."""

    name: str
    attribute: str
    part: str | None = None
    scale: float = 1.0


@dataclass(frozen=True)
class Sample:
    """A sample of a page in Prometheus' text form. `labels` must be among its labels; all that fit are added up."""

    name: str
    labels: str = ""


@dataclass(frozen=True)
class Field:
    """A value that a server tells by name: a field of a JSON page, a line of INFO, a column of a view. `of` says which."""

    name: str
    of: str = ""


@dataclass(frozen=True)
class Kernel:
    """A file of Linux. `collectd` is its plugin for the same, where it has one."""

    file: str
    collectd: str = ""


@dataclass(frozen=True)
class Asked:
    """The answer to a question in a broker's own protocol, or what our own agents count, in words."""

    words: str


Source = Bean | Sample | Field | Kernel | Asked

_BASE = {  # unit of a reading -> unit outside, factor, words of the unit in our names, suffix of names outside
    "1": ("1", 1.0, (), ""),
    "B": ("By", 1.0, ("bytes",), "bytes"),
    "s": ("s", 1.0, ("seconds", "s"), "seconds"),
    "ms": ("s", 1e-3, ("ms",), "seconds"),
    "us": ("s", 1e-6, ("us",), "seconds"),
    "%": ("1", 1e-2, ("percent",), "ratio"),
    "cores": ("{cpu}", 1.0, ("cores",), "cores"),
    "1/s": ("1/s", 1.0, ("per_s",), "per_second"),
    "B/s": ("By/s", 1.0, ("per_s",), "per_second"),
}


@dataclass(frozen=True)
class WatchedMetric:
    """`metric` and `unit` are those of the table `reading`; counters end in `_total`. Outside everything is in seconds and
    bytes, under OpenTelemetry's name where it has one (`otel`, with the attributes that tell its parts apart; one of ours
    there begins with "brokerlab.")."""

    metric: str
    unit: str
    source: Source
    meaning: str
    scope: Scope = "broker"
    otel: str = ""
    attributes: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        assert self.unit in _BASE, f"{self.metric}: unit {self.unit!r}"

    @property
    def counter(self) -> bool:
        return self.metric.endswith("_total")

    @property
    def outside_unit(self) -> str:
        """In UCUM, as OpenTelemetry writes units."""
        return _BASE[self.unit][0]

    def outside(self, value: float) -> float:
        """The value in `outside_unit`."""
        return value * _BASE[self.unit][1]

    @cached_property
    def short(self) -> str:
        """The metric in the unit it has outside: disk_busy_ms_total -> disk_busy_seconds_total."""
        _, _, own, suffix = _BASE[self.unit]
        name = self.metric.removesuffix("_total")
        said = next((word for word in own if name.endswith(f"_{word}")), None)
        if said is not None:
            name = f"{name.removesuffix(f'_{said}')}_{suffix}"
        elif suffix and suffix not in name.split("_"):
            name = f"{name}_{suffix}"
        return f"{name}_total" if self.counter else name

    @cached_property
    def prometheus(self) -> str:
        """The name in Prometheus' form."""
        if not self.otel:
            return f"brokerlab_{self.scope}_{self.short}"
        suffix = {"By": "_bytes", "s": "_seconds"}.get(self.outside_unit, "")
        return self.otel.replace(".", "_") + suffix + ("_total" if self.counter else "")

    @cached_property
    def labels(self) -> dict[str, str]:
        """`attributes` in Prometheus' form."""
        return {name.replace(".", "_"): value for name, value in self.attributes}

    def read_from(self, source: Source) -> WatchedMetric:
        """The same metric, read elsewhere."""
        return replace(self, source=source)


def by_metric(rows: Iterable[WatchedMetric]) -> dict[str, WatchedMetric]:
    """Raises ValueError where two rows have one metric."""
    found: dict[str, WatchedMetric] = {}
    for row in rows:
        if row.metric in found:
            raise ValueError(f"two rows for {row.metric}")
        found[row.metric] = row
    return found


def beans_of(rows: Iterable[WatchedMetric]) -> dict[str, tuple[str, ...]]:
    """Bean -> attributes: what must be read for these rows. Rows that no bean tells are left out."""
    beans: dict[str, tuple[str, ...]] = {}
    for row in rows:
        if isinstance(row.source, Bean):
            known = beans.get(row.source.name, ())
            beans[row.source.name] = tuple(dict.fromkeys((*known, row.source.attribute)))
    return beans


def fields_of(rows: Iterable[WatchedMetric], of: str = "") -> Mapping[str, WatchedMetric]:
    """Field -> row, of what a server tells by name."""
    return {row.source.name: row for row in rows if isinstance(row.source, Field) and row.source.of == of}
