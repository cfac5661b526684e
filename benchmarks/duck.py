"""The questions of the pipeline asked of DuckDB, on the same files: counts of delivery, latencies and rates by second."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from brokerlab.model.metrics import MEASURES

THREADS = 2

_RANGES = """
CREATE TEMP TABLE sends AS SELECT producer, partition, first, last, outcome FROM read_parquet('{run}/evidence/*/outcome/*.parquet');
CREATE TEMP TABLE arrivals AS SELECT producer, partition, consumer, epoch, ordinal, first, last
    FROM read_parquet('{run}/evidence/*/sequence/*.parquet');
"""
# How often every stretch between two ends of ranges was sent, acknowledged and received: running sums over the ends.
_DELIVERY = """
WITH ends AS (
    SELECT producer, partition, first AS place, (outcome = 'acknowledged')::INT AS acknowledged, 1 AS sent, 0 AS received FROM sends
    UNION ALL SELECT producer, partition, last + 1, -(outcome = 'acknowledged')::INT, -1, 0 FROM sends
    UNION ALL SELECT producer, partition, first, 0, 0, 1 FROM arrivals
    UNION ALL SELECT producer, partition, last + 1, 0, 0, -1 FROM arrivals
), steps AS (
    SELECT producer, partition, place, sum(acknowledged) AS acknowledged, sum(sent) AS sent, sum(received) AS received
    FROM ends GROUP BY ALL
), stretches AS (
    SELECT lead(place) OVER lane - place AS length, sum(acknowledged) OVER lane AS acknowledged, sum(sent) OVER lane AS sent,
           sum(received) OVER lane AS received
    FROM steps WINDOW lane AS (PARTITION BY producer, partition ORDER BY place)
)
SELECT sum(CASE WHEN sent > 0 THEN length END)::BIGINT AS sent,
       sum(CASE WHEN acknowledged > 0 AND received = 0 THEN length ELSE 0 END)::BIGINT AS lost,
       sum(CASE WHEN sent > 0 AND received > 1 THEN (received - 1) * length ELSE 0 END)::BIGINT AS duplicated,
       sum(received * length)::BIGINT AS received
FROM stretches WHERE length IS NOT NULL
"""
# All different numbers of a consumer minus those that raised the highest seen so far.
_REORDERED = """
WITH raised AS (
    SELECT greatest(last - greatest(first, coalesce(max(last) OVER (
        PARTITION BY producer, partition, consumer, epoch ORDER BY ordinal ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ), -1) + 1) + 1, 0) AS n FROM arrivals
), different AS (
    SELECT greatest(last - greatest(first, coalesce(max(last) OVER (
        PARTITION BY producer, partition, consumer, epoch ORDER BY first, last ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ), -1) + 1) + 1, 0) AS n FROM arrivals
)
SELECT ((SELECT sum(n) FROM different) - (SELECT sum(n) FROM raised))::BIGINT AS reordered
"""
_RATES = """
SELECT second_unix_s, role, "group", sum(sent), sum(received), sum(bytes)
FROM read_parquet('{run}/evidence/*/activity/*.parquet') GROUP BY ALL ORDER BY ALL
"""
_LATENCY = """
WITH buckets AS (
    SELECT second_unix_s, '{measure}' AS measure, unnest({measure}_bucket) AS bucket, unnest({measure}_count) AS n
    FROM read_parquet('{{run}}/evidence/*/interval/*.parquet')
), merged AS (SELECT second_unix_s, measure, bucket, sum(n) AS n FROM buckets GROUP BY ALL),
ranked AS (
    SELECT second_unix_s, measure, bucket, sum(n) OVER (PARTITION BY second_unix_s ORDER BY bucket) AS up_to,
           sum(n) OVER (PARTITION BY second_unix_s) AS total FROM merged
)
SELECT second_unix_s, measure, any_value(total), min(bucket) FILTER (up_to >= 0.5 * total),
       min(bucket) FILTER (up_to >= 0.99 * total), min(bucket) FILTER (up_to >= 0.999 * total)
FROM ranked GROUP BY ALL
"""
# The longest time without an acknowledgement or delivery that begins between the fault and the end, of all lanes together
# and of the worst lane.
_OUTAGE = """
WITH alive AS (
    SELECT kind, "group", producer, partition, greatest(at_mono_ns, {from_ns}) AS moment
    FROM read_parquet('{run}/evidence/*/message/*.parquet') WHERE kind = 'delivery' OR outcome = 'acknowledged'
), steps AS (
    SELECT kind, moment, coalesce(lag(moment) OVER (PARTITION BY kind, "group" ORDER BY moment), {from_ns}) AS before,
           coalesce(lag(moment) OVER (PARTITION BY kind, "group", producer, partition ORDER BY moment), {from_ns}) AS before_in_lane
    FROM alive
)
SELECT kind, max(moment - before) FILTER (before < {until_ns}), max(moment - before_in_lane) FILTER (before_in_lane < {until_ns})
FROM steps GROUP BY kind
"""
# Delivery and latencies from single messages, without ranges and histograms.
_MESSAGES = """
WITH numbers AS (
    SELECT producer, partition, sequence, count(*) FILTER (kind = 'send' AND outcome = 'acknowledged') AS acknowledged,
           count(*) FILTER (kind = 'delivery') AS received
    FROM read_parquet('{run}/evidence/*/message/*.parquet') GROUP BY ALL
)
SELECT sum(acknowledged)::BIGINT AS acknowledged, sum((acknowledged > 0 AND received = 0)::INT)::BIGINT AS lost,
       sum(greatest(received - 1, 0))::BIGINT AS duplicated, sum(received)::BIGINT AS received FROM numbers
"""
_MESSAGE_LATENCY = """
SELECT kind, quantile_disc(at_mono_ns - scheduled_mono_ns, [0.5, 0.99, 0.999])
FROM read_parquet('{run}/evidence/*/message/*.parquet') GROUP BY kind ORDER BY kind
"""


def answers(run: Path, faults: tuple[int, int] | None = None, *, messages: bool = False) -> dict[str, Any]:
    """The counts of delivery; the other questions are asked and their answers dropped. `faults`: (from_ns, until_ns).
    `messages`: counted from single messages as well, under that name."""
    import duckdb

    with duckdb.connect(config={"threads": THREADS}) as connection:

        def ask(query: str) -> Any:
            return connection.execute(query.replace("{run}", str(run)))

        ask("SET enable_progress_bar = false")
        ask(_RANGES)
        found: dict[str, Any] = {}
        for query in (_DELIVERY, _REORDERED):
            answer = ask(query)
            found |= dict(zip([d[0] for d in answer.description], answer.fetchone(), strict=True))
        ask(_RATES).fetchall()
        for measure in MEASURES:
            ask(_LATENCY.format(measure=measure)).fetchall()
        if faults is not None:
            query = _OUTAGE.replace("{from_ns}", str(faults[0])).replace("{until_ns}", str(faults[1]))
            found["outages"] = ask(query).fetchall()
        if messages:
            answer = ask(_MESSAGES)
            found["messages"] = dict(zip([d[0] for d in answer.description], answer.fetchone(), strict=True))
            found["latencies"] = ask(_MESSAGE_LATENCY).fetchall()
        return found
