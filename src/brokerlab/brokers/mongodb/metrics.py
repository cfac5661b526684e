"""What is watched of MongoDB, and of FerretDB with the PostgreSQL behind it: rows of the table of metrics."""

from __future__ import annotations

from brokerlab.brokers.kit.database_metrics import statistics
from brokerlab.model.watched import Field, Sample, WatchedMetric

FERRETDB = (
    WatchedMetric("requests_total", "1", Sample("ferretdb_client_requests_total"), "requests"),
    WatchedMetric("connections_accepted_total", "1", Sample("ferretdb_client_accepts_total"), "connections accepted"),
    WatchedMetric("heap_bytes", "B", Sample("go_memstats_heap_inuse_bytes"), "heap in use"),
    WatchedMetric("goroutines", "1", Sample("go_goroutines"), "goroutines"),
)
MONGOD = tuple(
    WatchedMetric(f"{name}s_total", "1", Field(name, "opcounters"), f"{name}s")
    for name in ("insert", "update", "delete", "command")
)
BEHIND = statistics(
    "connections commits_total rollbacks_total rows_inserted_total rows_updated_total rows_deleted_total wal_bytes_total"
)
METRICS = (*FERRETDB, *MONGOD, *BEHIND)
