"""docs/metrics.md: the table of metrics, from its rows, so that it cannot be out of date.

Run as `python -m brokerlab.monitor.metrics_page docs/metrics.md`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from brokerlab.model.watched import Asked, Bean, Field, Kernel, Sample, Source, WatchedMetric
from brokerlab.monitor.table import rows_of, systems

_HEAD = """# Metrics

Made from the table of metrics in the code; do not edit (`make docs` writes it). How to use them: [monitoring](monitoring.md).

*Reading* is the name and unit in evidence and in the table `reading_per_second`, where counters (`_total`) become rates. *Outside* is
the name in Prometheus' form, always in seconds and bytes; with dots instead of underscores, and without its unit, it is OpenTelemetry's
where OpenTelemetry has one (`system.*`, `process.*`, `jvm.*`, `messaging.*`). Graphite's path is
`brokerlab.<scope>.<names>.<reading, in seconds and bytes>`. Bean patterns add up what several beans say.
"""
_SCOPES = {
    "host": "This host",
    "process": "Processes (label `process`)",
    "cluster": "A cluster's files",
    "jvm": "JVMs (label `node`)",
    "destination": "Destinations (labels `broker`, `messaging_destination_name`)",
    "group": "Groups (labels `broker`, `messaging_consumer_group_name`, `messaging_destination_name`, `messaging_destination_partition_id`)",
    "load": "The load of a run (labels `cell`, `messaging_system`; in exports only)",
}


def page() -> str:
    parts = [_HEAD]
    for scope, title in _SCOPES.items():
        rows = [row for row in rows_of("") if row.scope == scope]
        parts += [f"## {title}\n", *_table(rows), ""]
    parts.append("## Brokers (label `node`; of destinations and groups their own)\n")
    everywhere = rows_of("")
    for system in systems():
        rows = [row for row in rows_of(system) if row not in everywhere]
        if rows:
            parts += [f"### {system}\n", *_table(rows), ""]
    return "\n".join(parts).rstrip() + "\n"


def _table(rows: list[WatchedMetric]) -> Iterator[str]:
    yield "| reading | unit | outside | read from | meaning |"
    yield "|---|---|---|---|---|"
    for row in rows:
        labels = ",".join(f'{name}="{value}"' for name, value in row.labels.items())
        outside = f"`{row.prometheus}{{{labels}}}`" if labels else f"`{row.prometheus}`"
        yield f"| `{row.metric}` | {row.unit} | {outside} | {_source(row.source)} | {row.meaning} |"


def _source(source: Source) -> str:
    match source:
        case Bean(name, attribute, part):
            return f"bean `{name}` {attribute}{f' ({part})' if part else ''}"
        case Sample(name, labels):
            return f"sample `{name}{f'{{{labels}}}' if labels else ''}`"
        case Field(name, of):
            return f"field `{name}`{f' of {of}' if of else ''}"
        case Kernel(file, collectd):
            return f"{file}{f'; collectd: {collectd}' if collectd else ''}"
        case Asked(words):
            return words


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page())
