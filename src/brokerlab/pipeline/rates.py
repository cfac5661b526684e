"""rate_per_second, and which seconds count as measured."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from brokerlab.model.phases import MEASURE, PHASES, PRODUCER

KEY = ("cell", "repeat", "second_unix_s", "role", "group")
COUNTERS = ("sent", "acknowledged", "rejected", "unknown", "received", "bytes", "buffer_full", "cpu_ns")


def rate_per_second(activity: pa.Table, due: pa.Table) -> pa.Table:
    """One row per (cell, repeat, second, role, group). `due` has KEY, phase and due of `interval`, the rest comes from
    activity.

    A second in which a phase begins has messages of both; it gets the phase at its start, which is the earlier one.
    """
    nothing = pa.scalar(0, pa.int64())
    cpu_ns = pc.add(activity["cpu_user_ns"], activity["cpu_system_ns"])
    done = activity.append_column("cpu_ns", cpu_ns).select([*KEY, *COUNTERS])
    done = done.append_column("due", pa.repeat(nothing, len(done)))
    done = done.append_column("at_start", phase_number(activity["phase"]))
    done = done.append_column("scheduled_in", pa.nulls(len(done), pa.int32()))
    scheduled = due.select([*KEY, "due"])
    for name in COUNTERS:
        scheduled = scheduled.append_column(name, pa.repeat(nothing, len(scheduled)))
    scheduled = scheduled.append_column("at_start", pa.nulls(len(scheduled), pa.int32()))
    scheduled = scheduled.append_column("scheduled_in", phase_number(due["phase"]))
    rows = pa.concat_tables([done, scheduled.select(done.column_names)])
    sums = [(name, "sum") for name in ("due", *COUNTERS)]
    summed = rows.group_by(list(KEY), use_threads=False).aggregate(
        [*sums, ("at_start", "min"), ("scheduled_in", "min")]
    )
    number = pc.coalesce(summed["at_start_min"], summed["scheduled_in_min"])
    return pa.table(
        {
            **{name: summed[name] for name in KEY},
            "phase": pa.array(PHASES).take(number),
            **{name: summed[f"{name}_sum"] for name in ("due", *COUNTERS)},
        }
    )


def phase_number(phase: pa.ChunkedArray) -> pa.ChunkedArray:
    """0, 1, 2 for warm_up, measure, drain: phases in their order."""
    return pc.index_in(phase, pa.array(PHASES))


def measured_seconds(rates: pa.Table) -> tuple[int, int] | None:
    """First and last of the whole seconds of the measure phase of an execution; None without one.

    A second is labelled with the phase at its start, so the last one labelled `measure` may run into the drain: it is
    left out. A phase of one second keeps it. Producers know when it ends; consumers learn it a little later where a number
    of messages decides.
    """
    measured = pc.and_(pc.equal(rates["phase"], MEASURE), pc.equal(rates["role"], PRODUCER))
    seconds = rates.filter(measured)["second_unix_s"]
    if not len(seconds):
        return None
    first, last = pc.min(seconds).as_py(), pc.max(seconds).as_py()
    return first, max(first, last - 1)
