"""agent_health: was the load generator itself the limit?"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from brokerlab.evidence.tables import ACTIVITY
from brokerlab.model.plan import Phase
from brokerlab.pipeline.latency import merged
from brokerlab.pipeline.schema import declared
from brokerlab.results.tables import AGENT_HEALTH

_KEY = ("cell", "repeat", "agent")


def agent_health(activity: DataFrame, samples: DataFrame) -> DataFrame:
    """One row per agent, measure phase only. `samples` is latency.samples(interval)."""
    cpu_ns = sf.col("cpu_user_ns") + sf.col("cpu_system_ns")
    measured = declared(activity, ACTIVITY).where(sf.col("phase") == Phase.MEASURE.value)
    per_agent = measured.groupBy(*_KEY, "role").agg(
        sf.countDistinct("second_unix_s").alias("seconds"),
        (sf.sum(cpu_ns) / sf.sum("elapsed_ns")).alias("cpu_cores_mean"),
        sf.max(cpu_ns / sf.col("elapsed_ns")).alias("cpu_cores_max"),
        sf.sum("buffer_full").alias("buffer_full"),
        sf.max("behind").alias("behind_max"),
        sf.max("in_flight").alias("in_flight_max"),
        sf.max("longest_pause_ns").alias("longest_pause_ns"),
        sf.max_by("second_unix_s", "longest_pause_ns").alias("longest_pause_unix_s"),
    )
    delays = samples.where((sf.col("measure") == "send_delay") & (sf.col("phase") == Phase.MEASURE.value))
    p99 = merged(delays, _KEY).select(*_KEY, sf.col("p99_ns").alias("send_delay_p99_ns"))
    joined = per_agent.join(sf.broadcast(p99), list(_KEY), "left").na.fill(0, ["send_delay_p99_ns"])
    return declared(joined, AGENT_HEALTH)
