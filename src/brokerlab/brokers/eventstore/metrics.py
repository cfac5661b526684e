"""What is watched of KurrentDB: rows of the table of metrics."""

from __future__ import annotations

from brokerlab.model.watched import Field, WatchedMetric

_STATS = (  # path in /stats, metric, unit, meaning
    ("proc.cpu", "cpu_percent", "%", "CPU as the server sees it"),
    ("proc.mem", "memory_bytes", "B", "memory"),
    ("proc.threadsCount", "threads", "1", "threads"),
    ("proc.diskIo.writtenBytes", "disk_written_bytes_total", "B", "bytes written to disk"),
    ("proc.diskIo.readBytes", "disk_read_bytes_total", "B", "bytes read from disk"),
)
METRICS = tuple(WatchedMetric(metric, unit, Field(name), meaning) for name, metric, unit, meaning in _STATS)
