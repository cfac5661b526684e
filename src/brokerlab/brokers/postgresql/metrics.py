"""What is watched of PostgreSQL: rows of the table of metrics."""

from __future__ import annotations

from brokerlab.brokers.kit.database_metrics import DATABASE, STATISTICS, WAL
from brokerlab.model.watched import Field, WatchedMetric, fields_of

# Of each standby; its name stands between "standby_" and the rest.
STANDBY = (
    WatchedMetric("behind_bytes", "B", Field("pg_wal_lsn_diff(sent_lsn, flush_lsn)", "pg_stat_replication"), "log sent to a standby and not yet flushed there"),
    WatchedMetric("flush_lag_s", "s", Field("flush_lag", "pg_stat_replication"), "time until a standby has flushed"),
)  # fmt: skip
METRICS = (*STATISTICS.values(), *STANDBY)
QUESTIONS = {  # what is asked -> its columns
    f"{DATABASE} WHERE datname = current_database()": fields_of(METRICS, DATABASE),
    WAL: fields_of(METRICS, WAL),
}
