"""The host's rows of the table of metrics as collectd and the node exporter tell them, in the table's units.

collectd's plugin `cpu` tells shares of all processors together, so its panels say shares where ours say cores.
"""

from __future__ import annotations

from brokerlab.model.watched_here import HOST
from brokerlab.monitor.grafana.panels import Panel, Query
from brokerlab.monitor.grafana.queries import unit_of

_HERE = "collectd.host"
_DISK = 'device!~"loop.*|ram.*|dm-.*"'
_RATE = "[$__rate_interval]"


def _cpu(mode: str) -> str:
    return f"scale({_HERE}.cpu.percent-{mode},0.01)"


def _cores(mode: str) -> str:
    return f"sum(rate(node_cpu_seconds_total{{mode={mode}}}{_RATE}))"


COLLECTD = {
    "cpu_user_cores": _cpu("user"),
    "cpu_system_cores": _cpu("system"),
    "cpu_idle_cores": _cpu("idle"),
    "cpu_iowait_cores": _cpu("wait"),
    "cpu_steal_cores": _cpu("steal"),
    "load1": f"{_HERE}.load.load.shortterm",
    "memory_available_bytes": f"sumSeries({_HERE}.memory.memory-{{free,cached,buffered,slab_recl}})",
    "memory_used_bytes": f"{_HERE}.memory.memory-used",
    "disk_free_bytes": f"{_HERE}.df-root.df_complex-free",
    "disk_read_bytes_total": f"aliasByNode({_HERE}.disk-*.disk_octets.read,2)",
    "disk_write_bytes_total": f"aliasByNode({_HERE}.disk-*.disk_octets.write,2)",
    "disk_busy_ms_total": f"scale(aliasByNode({_HERE}.disk-*.disk_io_time.io_time,2),0.001)",
    "network_loopback_bytes_total": f"{_HERE}.interface-lo.if_octets.rx",
    "network_receive_bytes_total": f"aliasByNode(exclude({_HERE}.interface-*.if_octets.rx,'interface-lo'),2)",
    "network_transmit_bytes_total": f"aliasByNode(exclude({_HERE}.interface-*.if_octets.tx,'interface-lo'),2)",
}
NODE_EXPORTER = {
    "cpu_user_cores": _cores('"user"').replace("mode=", "mode=~").replace('"user"', '"user|nice"'),
    "cpu_system_cores": _cores('"system"').replace("mode=", "mode=~").replace('"system"', '"system|irq|softirq"'),
    "cpu_idle_cores": _cores('"idle"'),
    "cpu_iowait_cores": _cores('"iowait"'),
    "cpu_steal_cores": _cores('"steal"'),
    "load1": "node_load1",
    "pressure_cpu_some_avg10_percent": f"rate(node_pressure_cpu_waiting_seconds_total{_RATE})",
    "pressure_io_some_avg10_percent": f"rate(node_pressure_io_waiting_seconds_total{_RATE})",
    "pressure_memory_some_avg10_percent": f"rate(node_pressure_memory_waiting_seconds_total{_RATE})",
    "memory_available_bytes": "node_memory_MemAvailable_bytes",
    "memory_used_bytes": "node_memory_MemTotal_bytes - node_memory_MemAvailable_bytes",
    "disk_free_bytes": 'node_filesystem_free_bytes{mountpoint="/"}',
    "disk_read_bytes_total": f"rate(node_disk_read_bytes_total{{{_DISK}}}{_RATE})",
    "disk_write_bytes_total": f"rate(node_disk_written_bytes_total{{{_DISK}}}{_RATE})",
    "disk_busy_ms_total": f"rate(node_disk_io_time_seconds_total{{{_DISK}}}{_RATE})",
    "network_loopback_bytes_total": f'rate(node_network_receive_bytes_total{{device="lo"}}{_RATE})',
    "network_receive_bytes_total": f'rate(node_network_receive_bytes_total{{device!="lo"}}{_RATE})',
    "network_transmit_bytes_total": f'rate(node_network_transmit_bytes_total{{device!="lo"}}{_RATE})',
}


def host_panels(expressions: dict[str, str]) -> tuple[Panel, ...]:
    """A panel for every row of the host that has an expression, in the table's order."""
    return tuple(
        Panel(
            _title(metric, shares=expressions is COLLECTD),
            HOST[metric].meaning,
            "percentunit" if _is_share(metric, expressions) else unit_of(HOST[metric]),
            (Query(expressions[metric], "" if expressions is COLLECTD else _legend(expressions[metric])),),
        )
        for metric in HOST
        if metric in expressions
    )


def _is_share(metric: str, expressions: dict[str, str]) -> bool:
    return metric.startswith("pressure_") or (expressions is COLLECTD and metric.endswith("_cores"))


def _legend(expression: str) -> str:
    return "{{device}}" if "device" in expression else "host"


def _title(metric: str, *, shares: bool) -> str:
    row = HOST[metric]
    words = row.short.removesuffix("_total").replace("_", " ")
    if shares and metric.endswith("_cores"):
        words = f"{words.removesuffix(' cores')}, share of all cores"
    return words[0].upper() + words[1:] + (" per second" if row.counter else "")
