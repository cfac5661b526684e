"""What is watched of the databases that `database.py` makes, also behind another product: rows of the table of metrics."""

from __future__ import annotations

from brokerlab.model.watched import Field, WatchedMetric, by_metric

DATABASE, WAL = "pg_stat_database", "pg_stat_wal"
_TOLD = (  # view, column, metric, unit, meaning
    (DATABASE, "numbackends", "connections", "1", "open connections"),
    (DATABASE, "xact_commit", "commits_total", "1", "transactions committed"),
    (DATABASE, "xact_rollback", "rollbacks_total", "1", "transactions rolled back"),
    (DATABASE, "blks_read", "blocks_read_total", "1", "blocks read from disk or the page cache"),
    (DATABASE, "blks_hit", "blocks_hit_total", "1", "blocks found in shared memory"),
    (DATABASE, "tup_inserted", "rows_inserted_total", "1", "rows inserted"),
    (DATABASE, "tup_updated", "rows_updated_total", "1", "rows updated"),
    (DATABASE, "tup_deleted", "rows_deleted_total", "1", "rows deleted"),
    (DATABASE, "deadlocks", "deadlocks_total", "1", "deadlocks"),
    (DATABASE, "pg_database_size(datname)", "database_bytes", "B", "size of the database"),
    (WAL, "wal_records", "wal_records_total", "1", "records of the write-ahead log"),
    (WAL, "wal_fpi", "wal_full_pages_total", "1", "whole pages in the write-ahead log"),
    (WAL, "wal_bytes", "wal_bytes_total", "B", "bytes of the write-ahead log"),
    (WAL, "wal_buffers_full", "wal_buffers_full_total", "1", "writes because its buffers were full"),
)
STATISTICS = by_metric(
    WatchedMetric(metric, unit, Field(name, view), words) for view, name, metric, unit, words in _TOLD
)


def statistics(text: str) -> tuple[WatchedMetric, ...]:
    """Some of them: the words of the text are their names."""
    return tuple(STATISTICS[name] for name in text.split())
