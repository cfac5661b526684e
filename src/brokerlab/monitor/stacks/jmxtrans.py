"""jmxtrans' configuration: the beans of the table of metrics, read from JVMs once a second, to carbon."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from brokerlab.install.java import Java
from brokerlab.model.watched import Bean, WatchedMetric
from brokerlab.monitor.stacks.targets import Target

PREFIX = "jmx"
_WRITER = "com.googlecode.jmxtrans.model.output.GraphiteWriterFactory"
# Guice and the parser of its files reach into the JDK, which closes these packages since Java 17.
_OPENED = ("java.base/java.lang", "java.management/javax.management")
LOGBACK = """<configuration>
  <appender name="out" class="ch.qos.logback.core.ConsoleAppender">
    <encoder><pattern>%d{yyyy-MM-dd'T'HH:mm:ss.SSSXXX, UTC} %-5level %logger{20}: %msg%n</pattern></encoder>
  </appender>
  <root level="WARN"><appender-ref ref="out"/></root>
</configuration>
"""


def configuration(targets: Sequence[Target], rows: Mapping[str, Iterable[WatchedMetric]], carbon_port: int) -> str:
    """`rows` by what their series are grouped under (tables.beans_by_group). Rows that no bean tells are left out; beans that a
    JVM does not have give no series."""
    writer = {
        "@class": _WRITER,
        "rootPrefix": PREFIX,
        "host": "127.0.0.1",
        "port": carbon_port,
        "flushStrategy": "always",
    }
    queries = [_query(group, row, writer) for group in rows for row in rows[group] if isinstance(row.source, Bean)]
    servers = [
        {"host": t.host, "port": str(t.port), "alias": t.name, "runPeriodSeconds": 1, "queries": queries}
        for t in targets
    ]
    return json.dumps({"servers": servers}, indent=1)


def _query(group: str, row: WatchedMetric, writer: Mapping[str, Any]) -> dict[str, Any]:
    bean = row.source
    assert isinstance(bean, Bean)
    query: dict[str, Any] = {
        "obj": bean.name,
        "attr": [bean.attribute],
        "resultAlias": f"{group}.{row.metric}",
        "outputWriters": [writer],
    }
    if bean.part is not None:
        query["keys"] = [bean.part]
    if "*" in bean.name:
        query["typeNames"] = stars(bean)  # a series for each bean of the pattern
    return query


def stars(bean: Bean) -> list[str]:
    """The keys of a pattern that stand for any value."""
    keys = (key.partition("=") for key in bean.name.partition(":")[2].split(","))
    return [name for name, _, value in keys if value == "*"]


def series(target: str, group: str, row: WatchedMetric) -> str:
    """A Graphite expression for what one JVM says of this row, in the unit it has outside. `target` may be a pattern."""
    bean = row.source
    assert isinstance(bean, Bean)
    last = bean.attribute if bean.part is None else f"{bean.attribute}_{bean.part}"
    of_beans = f"{PREFIX}.{target}.{group}.{row.metric}{'.*' if '*' in bean.name else ''}.{last}"
    summed = f"groupByNode({of_beans},1,'sum')" if "*" in bean.name else of_beans
    factor = row.outside(bean.scale)
    return summed if factor == 1 else f"scale({summed},{factor!r})"


def command(java: Java, jar: Path, home: Path) -> list[str]:
    opened = [word for package in _OPENED for word in ("--add-opens", f"{package}=ALL-UNNAMED")]
    options = [
        "-Xmx128m",
        "-XX:+UseSerialGC",
        "-XX:-UsePerfData",
        f"-Dlogback.configurationFile={home / 'logback.xml'}",
    ]
    files = ["-f", str(home / "jmxtrans.json"), "-s", "1", "-e"]
    return [str(java.path), *opened, *options, "-jar", str(jar), *files]
