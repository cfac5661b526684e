"""The dashboards: host, JVM, each broker and a run, for Prometheus and for Graphite."""

from __future__ import annotations

from brokerlab.model.watched_here import CLUSTER, DESTINATION, GROUP, HOST, JVM, LOAD, PROCESS
from brokerlab.monitor.grafana.host_queries import COLLECTD, NODE_EXPORTER, host_panels
from brokerlab.monitor.grafana.panels import Dashboard, Variable
from brokerlab.monitor.grafana.queries import graphite_panel, jmx_panel, prometheus_panel
from brokerlab.monitor.stacks import jmxtrans
from brokerlab.monitor.stacks.tables import JVM_GROUP, beans_by_group
from brokerlab.monitor.table import rows_of, systems

_SOME_NODE = 'node=~"$node"'
_OF_A_RUN = ("cpu_cores", "rss_bytes", "threads", "open_files")  # of each process that takes part
_HOST_IN_A_RUN = ("cpu_busy_cores", "cpu_foreign_cores", "memory_available_bytes")


def dashboards() -> tuple[Dashboard, ...]:
    return (*_prometheus(), *_graphite())


def _prometheus() -> list[Dashboard]:
    jvm = tuple(prometheus_panel(row, _SOME_NODE) for row in JVM.values())
    found = [
        Dashboard("brokerlab-prometheus-host", "Host (node exporter)", "prometheus", host_panels(NODE_EXPORTER)),
        Dashboard("brokerlab-prometheus-jvm", "JVM", "prometheus", jvm, (_nodes(JVM["threads"].prometheus),)),
        _prometheus_run(),
    ]
    for system in systems():
        rows = rows_of(system, "broker")
        if rows:
            panels = list(dict.fromkeys(prometheus_panel(row, _SOME_NODE) for row in rows))  # some have two sources
            told = {row.metric for scope in ("destination", "group") for row in rows_of(system, scope)}
            panels += [prometheus_panel(r) for r in (*DESTINATION.values(), *GROUP.values()) if r.metric in told]
            uid, title = f"brokerlab-prometheus-{system}", f"Broker: {system}"
            found.append(Dashboard(uid, title, "prometheus", tuple(panels), (_nodes(rows[0].prometheus),)))
    return found


def _nodes(metric: str) -> Variable:
    return Variable("node", "Node", f"label_values({metric}, node)")


def _prometheus_run() -> Dashboard:
    panels = [prometheus_panel(row) for row in LOAD.values()]
    panels += [prometheus_panel(PROCESS[name]) for name in _OF_A_RUN]
    panels += [prometheus_panel(row) for row in CLUSTER.values()]
    panels += [prometheus_panel(HOST[name]) for name in _HOST_IN_A_RUN]
    return Dashboard("brokerlab-prometheus-run", "Run", "prometheus", tuple(panels))


def _graphite() -> list[Dashboard]:
    found = [Dashboard("brokerlab-graphite-host", "Host (collectd)", "graphite", host_panels(COLLECTD))]
    for group, rows in beans_by_group().items():
        title = "JVM (jmxtrans)" if group == JVM_GROUP else f"Broker: {group} (jmxtrans)"
        node = Variable("node", "Node", f"{jmxtrans.PREFIX}.*")
        panels = tuple(jmx_panel(group, row) for row in rows)
        found.append(Dashboard(f"brokerlab-graphite-{group}", title, "graphite", panels, (node,)))
    rows_of_a_run = [*LOAD.values(), *(PROCESS[name] for name in _OF_A_RUN), *(HOST[name] for name in _HOST_IN_A_RUN)]
    panels = tuple(map(graphite_panel, rows_of_a_run))
    return [*found, Dashboard("brokerlab-graphite-run", "Run (Graphite)", "graphite", panels)]
