"""agent_health: was the load generator itself the limit?"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from brokerlab.model.phases import MEASURE
from brokerlab.pipeline.latency import merging

AGENT_KEY = ("cell", "repeat", "agent")


def send_delays(samples: pa.Table) -> pa.Table:
    """The send delays of the measure phase merged by agent; `samples` is latency.samples(interval)."""
    wanted = pc.and_(pc.equal(samples["measure"], "send_delay"), pc.equal(samples["phase"], MEASURE))
    return merging(AGENT_KEY)(samples.filter(wanted))


def agent_health(activity: pa.Table, delays: pa.Table) -> pa.Table:
    """One row per agent, measure phase only. `delays` are rows of send_delays, several of an agent or none."""
    measured = activity.filter(pc.equal(activity["phase"], MEASURE)).sort_by("second_unix_s")
    cpu_ns = pc.add(measured["cpu_user_ns"], measured["cpu_system_ns"])
    cores = pc.divide(cpu_ns.cast(pa.float64()), measured["elapsed_ns"].cast(pa.float64()))
    rows = measured.append_column("cpu_ns", cpu_ns).append_column("cores", cores)
    maxima = ("cores", "behind", "in_flight", "longest_pause_ns")
    found = rows.group_by([*AGENT_KEY, "role"], use_threads=False).aggregate(
        [("second_unix_s", "count_distinct"), *((n, "sum") for n in ("cpu_ns", "elapsed_ns", "buffer_full")),
         *((n, "max") for n in maxima), ("second_unix_s", "list"), ("longest_pause_ns", "list")]
    )  # fmt: skip
    merged = merging(AGENT_KEY)(delays)
    p99_ns = dict(zip(_agents(merged), merged["p99_ns"].to_pylist(), strict=True))
    pauses = zip(found["longest_pause_ns_list"].to_pylist(), found["second_unix_s_list"].to_pylist(), strict=True)
    mean = pc.divide(found["cpu_ns_sum"].cast(pa.float64()), found["elapsed_ns_sum"].cast(pa.float64()))
    return pa.table(
        {
            **{name: found[name] for name in (*AGENT_KEY, "role")},
            "seconds": found["second_unix_s_count_distinct"],
            "cpu_cores_mean": mean,
            "cpu_cores_max": found["cores_max"],
            "buffer_full": found["buffer_full_sum"],
            "behind_max": found["behind_max"],
            "in_flight_max": found["in_flight_max"],
            "longest_pause_ns": found["longest_pause_ns_max"],
            "longest_pause_unix_s": [max(zip(*of_agent, strict=True))[1] for of_agent in pauses],
            "send_delay_p99_ns": pa.array([p99_ns.get(agent, 0) for agent in _agents(found)], pa.int64()),
        }
    )


def _agents(rows: pa.Table) -> list[tuple[str, int, str]]:
    return list(zip(*(rows[name].to_pylist() for name in AGENT_KEY), strict=True))
