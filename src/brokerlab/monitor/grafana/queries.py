"""A row of the table of metrics as a question to Prometheus or Graphite, and as a panel."""

from __future__ import annotations

from brokerlab.model.watched import WatchedMetric
from brokerlab.model.watched_here import HISTOGRAMS
from brokerlab.monitor.grafana.panels import UNITS, Panel, Query
from brokerlab.monitor.stacks import jmxtrans
from brokerlab.monitor.table import PREFIX

_QUANTILES = {"p50": 0.5, "p99": 0.99, "p999": 0.999}
_LEGENDS = {  # scope -> which of its labels tell series apart
    "host": ("instance",),
    "process": ("process",),
    "cluster": ("instance",),
    "jvm": ("node",),
    "broker": ("node",),
    "destination": ("messaging_destination_name",),
    "group": ("messaging_consumer_group_name", "messaging_destination_name", "messaging_destination_partition_id"),
    "load": ("cell",),
}
_PARTS = {"host": 0, "cluster": 0, "process": 1, "jvm": 1, "broker": 1, "destination": 2, "group": 4, "load": 1}


def unit_of(row: WatchedMetric) -> str:
    """Grafana's unit of the panel: a counter is shown as its change per second."""
    unit = row.outside_unit
    if row.short.endswith("_ratio"):
        return "percentunit"
    return UNITS[{"1": "1/s", "By": "By/s", "s": "1"}.get(unit, unit) if row.counter else unit]


def prometheus_panel(row: WatchedMetric, select: str = "") -> Panel:
    """`select` are label matchers, beside those that the row has itself."""
    own = [f'{name}="{value}"' for name, value in row.labels.items()]
    matchers = ",".join([*own, *([select] if select else [])])
    by = _LEGENDS[row.scope]
    legend = " ".join(f"{{{{{label}}}}}" for label in by)
    if row.scope == "load" and row.metric in HISTOGRAMS:
        return Panel(
            _title(row), row.meaning, "s", tuple(_quantile(row, matchers, by, name, legend) for name in _QUANTILES)
        )
    series = f"{row.prometheus}{{{matchers}}}" if matchers else row.prometheus
    # What several beans of one JVM say is added up; where there is one series, the sum is that series.
    summed = f"sum by ({', '.join(by)}) ({f'rate({series}[$__rate_interval])' if row.counter else series})"
    return Panel(_title(row), row.meaning, unit_of(row), (Query(summed, legend),))


def _quantile(row: WatchedMetric, matchers: str, by: tuple[str, ...], name: str, legend: str) -> Query:
    buckets = f"{row.prometheus}_bucket" + (f"{{{matchers}}}" if matchers else "")
    summed = f"sum by (le, {', '.join(by)}) (rate({buckets}[$__rate_interval]))"
    return Query(f"histogram_quantile({_QUANTILES[name]}, {summed})", f"{legend} {name}")


def jmx_panel(group: str, row: WatchedMetric) -> Panel:
    """Of what jmxtrans writes to Graphite."""
    series = jmxtrans.series("$node", group, row)
    named = f"perSecond(interpolate({series}))" if row.counter else series
    # A sum of several beans is called by its node already.
    return Panel(_title(row), row.meaning, unit_of(row), (Query(f"aliasSub({named},'.*jmx\\.([^.]+).*','\\1')"),))


def graphite_panel(row: WatchedMetric) -> Panel:
    """Of what `--export graphite` writes: brokerlab.<scope>.<names>.<metric>."""
    stars = ["*"] * _PARTS[row.scope]
    path = ".".join((PREFIX, row.scope, *stars, row.short))
    nodes = ",".join(str(2 + i) for i in range(len(stars))) or "1"
    if row.scope == "load" and row.metric in HISTOGRAMS:
        of_quantiles = f"{path.removesuffix('_seconds')}_p*_seconds"
        return Panel(_title(row), row.meaning, "s", (Query(f"aliasByNode({of_quantiles},{nodes},{2 + len(stars)})"),))
    # Points come every few seconds: between them a counter is taken to grow evenly.
    named = f"perSecond(interpolate({path}))" if row.counter else path
    return Panel(_title(row), row.meaning, unit_of(row), (Query(f"aliasByNode({named},{nodes})"),))


def _title(row: WatchedMetric) -> str:
    """In words: `disk_write_bytes_total` -> "Disk write bytes per second". The axis tells seconds."""
    words = row.short.removesuffix("_total").removesuffix("_seconds").replace("_", " ")
    if row.scope in ("destination", "group"):
        words = f"{row.scope}: {words}"
    return words[0].upper() + words[1:] + (" per second" if row.counter else "")
