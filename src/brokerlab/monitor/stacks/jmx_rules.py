"""Rules for the Prometheus project's JMX agent: the beans of the table of metrics, under the names that our own page has.

Only these beans are read: reading all that a large server has, once a second, took it a fifth of a core.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import yaml

from brokerlab.model.watched import Bean, WatchedMetric

# The agent tells these by itself, with `area` where we have `jvm_memory_type`, and answers nothing at all when a rule makes
# one of them again (1.0.1). Prometheus adds our label instead: prometheus.configuration.
AGENTS_OWN = ("jvm_memory_used_bytes", "jvm_memory_committed_bytes")


def rules(rows: Mapping[str, Iterable[WatchedMetric]]) -> str:
    """The agent's configuration file, for rows by group as `tables.beans_by_group` gives them."""
    wanted = [row for group in rows.values() for row in group if isinstance(row.source, Bean)]
    wanted = [row for row in wanted if row.prometheus not in AGENTS_OWN]
    beans = dict.fromkeys(row.source.name for row in wanted if isinstance(row.source, Bean))
    return yaml.safe_dump({"includeObjectNames": list(beans), "rules": [_rule(row) for row in wanted]}, sort_keys=False)


def _rule(row: WatchedMetric) -> dict[str, object]:
    bean = row.source
    assert isinstance(bean, Bean)
    labels = dict(row.labels)
    if "*" in bean.name:
        labels["bean"] = "$1"  # which of the pattern's beans; questions add them up
    return {
        "pattern": pattern(bean),
        "name": row.prometheus,
        "type": "COUNTER" if row.counter else "GAUGE",
        "help": row.meaning,
        "valueFactor": row.outside(bean.scale),
        **({"labels": labels} if labels else {}),
    }


def pattern(bean: Bean) -> str:
    """A regular expression for `domain<key=value, key=value><part of>attribute`, whatever the order of a bean's keys.
    The first group is the value that a `*` stands for."""
    domain, _, keys = bean.name.partition(":")
    looks = []
    for key in keys.split(","):
        name, _, value = key.partition("=")
        wanted = "([^,>]+)" if value == "*" else re.escape(value)
        looks.append(f"(?=[^>]*\\b{re.escape(name)}={wanted}[,>])")
    attribute = f"<>{bean.attribute}" if bean.part is None else f"<{bean.attribute}>{bean.part}"
    return f"{re.escape(domain)}<{''.join(looks)}[^>]*>{attribute}"
