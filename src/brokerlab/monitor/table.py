"""The table of metrics: every row that is declared, and what a series is called outside.

A row says where a figure is read (`source`: a management bean, a sample of a page, a field, a file of the kernel), its unit
in evidence, and its name and unit outside. Everything that names a metric is made from here:

    probes                      brokers/<name>/probe.py, probes/, by `source`
    Prometheus, OpenTelemetry   row.prometheus with row.labels and labels_of(subject); row.outside(value)
    Graphite                    graphite_path(subject, row)
    Jolokia, jmxtrans, the Prometheus JMX agent     rows whose source is a Bean: `bean_rows`
    collectd                    rows whose source is a Kernel file: `source.collectd` is the plugin
    documentation               monitor/metrics_page.py
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from brokerlab.brokers.registry import BROKERS, folder_of, metrics_of
from brokerlab.model.subjects import parts_of, scope_of
from brokerlab.model.watched import Asked, Bean, Kernel, Scope, WatchedMetric
from brokerlab.model.watched_here import CLUSTER, DESTINATION, GROUP, HOST, JVM, LOAD, PROCESS

PREFIX = "brokerlab"  # of every path in Graphite
_EVERYWHERE = (HOST, PROCESS, CLUSTER, JVM, DESTINATION, GROUP, LOAD)
_NO_PATH = re.compile(r"[^\w%:+=-]")  # what would divide a path of Graphite, or end it


@dataclass(frozen=True)
class Entry:
    """A row and whose it is: a folder of brokers/, or "" for what is watched everywhere."""

    system: str
    row: WatchedMetric


@lru_cache(maxsize=1)
def table() -> tuple[Entry, ...]:
    """Every row, in the order in which pages show them. A broker's rows about its JVM are among its own as well."""
    here = [Entry("", row) for rows in _EVERYWHERE for row in rows.values()]
    folders = dict.fromkeys(folder_of(name) for name in BROKERS)
    first = {folder_of(name): name for name in reversed(BROKERS)}
    return (*here, *(Entry(folder, row) for folder in folders for row in metrics_of(first[folder])))


def rows_of(system: str, scope: Scope | None = None) -> tuple[WatchedMetric, ...]:
    """Of one folder of brokers/, or of "" what is watched everywhere."""
    return tuple(e.row for e in table() if e.system == system and scope in (None, e.row.scope))


def bean_rows(system: str) -> tuple[tuple[WatchedMetric, Bean], ...]:
    """The rows of a broker that its JVM's management beans tell, its JVM's own included; of "" those of every JVM."""
    return tuple((row, row.source) for row in rows_of(system) if isinstance(row.source, Bean))


def collectd_plugins() -> tuple[str, ...]:
    """The plugins that read what we read of a host."""
    sources = [row.source for row in HOST.values() if isinstance(row.source, Kernel)]
    return tuple(dict.fromkeys(source.collectd for source in sources if source.collectd))


@lru_cache(maxsize=4096)
def row_of(subject: str, metric: str, unit: str) -> WatchedMetric:
    """The row of a reading. One that no row declares (a standby's, with its name in the metric) is made from its unit."""
    scope = scope_of(subject)
    found = _by_reading().get((scope, metric))
    return found or WatchedMetric(metric, unit, Asked("not in the table"), metric.replace("_", " "), _scope(scope))


@lru_cache(maxsize=1)
def _by_reading() -> dict[tuple[str, str], WatchedMetric]:
    """The same metric of several brokers has one name and unit outside; a test holds that."""
    return {(e.row.scope, e.row.metric): e.row for e in reversed(table())}


def _scope(scope: str) -> Scope:
    known: dict[str, Scope] = {e.row.scope: e.row.scope for e in table()}
    return known.get(scope, "broker")


def graphite_path(subject: str, row: WatchedMetric) -> str:
    """brokerlab.<scope>.<names>.<metric>, as brokerlab.process.producer-1.cpu_cores"""
    return ".".join((PREFIX, row.scope, *map(path_part, parts_of(subject)), row.short))


def path_part(name: str) -> str:
    """A name as one part of a path of Graphite."""
    return _NO_PATH.sub("_", name) or "_"


def systems() -> Iterator[str]:
    """The folders of brokers/ that have rows."""
    yield from dict.fromkeys(e.system for e in table() if e.system)
