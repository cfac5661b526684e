"""The verdict so far: what the runner's own checks say of an execution while it goes, and what is counted of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from brokerlab.dashboard.live_tables import LiveTables
from brokerlab.judge.checks import AT_ONCE, all_reasons
from brokerlab.judge.figures import Row, figures
from brokerlab.judge.findings import Findings
from brokerlab.model.environment import Environment
from brokerlab.model.execution_id import ExecutionId
from brokerlab.model.histogram import quantile_ns
from brokerlab.model.phases import MEASURE
from brokerlab.model.plan import RunPlan
from brokerlab.model.quantiles import SHARES
from brokerlab.model.state import RunState
from brokerlab.results.verdict import Reason

AMISS = ("rejected", "unknown", "corrupted", "unexpected")


def counts(live: LiveTables) -> dict[str, int]:
    """Messages of the whole execution up to now, live lines included."""
    return {**live.totals, "behind": sum(int(line.get("behind", 0)) for line in live.latest.values())}


def reasons(
    live: LiveTables, execution: ExecutionId, plan: RunPlan, state: RunState, environment: Environment
) -> list[Reason]:
    """What the machine or our own agents have spoiled of this execution, gravest first, by the checks that the runner asks
    when it has ended. Nothing is said before the measure phase has begun."""
    tables = _tables(live, execution)
    if not tables["latency_per_phase"]:
        return []
    found = Findings(
        plan=plan,
        state=state,
        environment=environment,
        tables=tables,
        figures=figures(tables["rate_per_second"], tables["latency_per_phase"], [], tables["agent_health"]),
    )
    return [r for r in all_reasons(found, AT_ONCE) if r.repeat == execution.repeat and r.cell == execution.cell]


def _tables(live: LiveTables, execution: ExecutionId) -> dict[str, list[Row]]:
    """Rows of the measure phase as results.at_once makes them, from what is kept in memory."""
    where = {"cell": execution.cell, "repeat": execution.repeat, "phase": MEASURE}
    measured = [r for r in live.agents.values() if r["phase"] == MEASURE]
    seconds = {r["second_unix_s"] for r in measured}
    per_phase = [
        {"measure": measure, "group": group, "negative": live.negative.get((measure, group), 0), "count": int(n.sum()),
         **{key: quantile_ns(bucket.astype("int32"), n, share) for key, share in SHARES.items()}}
        for (measure, group), (bucket, n) in live.phases.items()
    ]  # fmt: skip
    per_second = [
        {"measure": measure, "second_unix_s": second, "p99_ns": p99}
        for (measure, _, second), (_, _, p99) in live.rows("latency_per_second").items()
        if measure == "send_delay" and second in seconds
    ]
    readings = [
        {"subject": subject, "metric": metric, "second_unix_s": second, "value": value}
        for (subject, metric, second), (value,) in live.rows("reading_per_second").items()
        if subject == "host" and second in seconds
    ]
    found: Mapping[str, Sequence[Row]] = {
        "latency_per_phase": per_phase,
        "latency_per_second": per_second,
        "rate_per_second": measured,
        "agent_health": _agents(measured),
        "reading_per_second": readings,
    }
    return {name: [{**row, **where} for row in rows] for name, rows in found.items()}


def _agents(measured: Sequence[Row]) -> list[Row]:
    of: dict[str, list[Row]] = defaultdict(list)
    for row in measured:
        of[row["agent"]].append(row)
    return [
        {
            "agent": agent, "role": mine[0]["role"], "behind_max": max(r["behind"] for r in mine),
            "cpu_cores_mean": sum(r["cpu_user_ns"] + r["cpu_system_ns"] for r in mine) / max(sum(r["elapsed_ns"] for r in mine), 1),
            "longest_pause_ns": (worst := max(mine, key=lambda r: r["longest_pause_ns"] or 0))["longest_pause_ns"] or 0,
            "longest_pause_unix_s": worst["second_unix_s"],
        }
        for agent, mine in sorted(of.items())
    ]  # fmt: skip
