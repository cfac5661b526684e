"""What is watched of the server in memory: rows of the table of metrics."""

from __future__ import annotations

from brokerlab.model.watched import Field, WatchedMetric

_TOLD = {  # what `statistics` tells -> unit, meaning
    "connections": ("1", "open connections"),
    "in_messages_total": ("1", "messages taken in"),
    "out_messages_total": ("1", "messages delivered"),
    "in_bytes_total": ("B", "bytes taken in"),
    "out_bytes_total": ("B", "bytes delivered"),
    "held_messages": ("1", "messages held"),
    "held_bytes": ("B", "bytes held"),
}
METRICS = tuple(WatchedMetric(name, unit, Field(name), meaning) for name, (unit, meaning) in _TOLD.items())
