"""The figures of each execution: a handful of numbers, so plain Python, not Spark."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from brokerlab.judge.course_figures import course, taken_in
from brokerlab.judge.minute_figures import minute_rates
from brokerlab.model.environment import Ceilings
from brokerlab.model.execution_id import ExecutionId
from brokerlab.model.metrics import COSTS, COUNTS
from brokerlab.model.plan import Phase, Role
from brokerlab.model.quantiles import SUMMARY_QUANTILES
from brokerlab.results.tables import NO_GROUP, OF_SENDS

Row = Mapping[str, Any]
OF_RECEIVING = (
    "received_per_s", "received_bytes_per_s", "received_peak_per_s", "received_variation", "received_per_sent",
)  # fmt: skip
OF_BACKLOG = {  # column of `cost` -> metric: consumers that start after the backlog do all their work in the drain
    "consumer_cpu_us_per_message": "consumer_cpu_us_per_message",
    "broker_cpu_us_per_message": "backlog_broker_cpu_us_per_message",
    "broker_disk_written_bytes_per_message": "backlog_disk_written_bytes_per_message",
}
Figures = dict[tuple[str, str], dict[int, float]]  # (cell, metric) -> repeat -> value


def measured_bounds(rates: Iterable[Row]) -> dict[ExecutionId, tuple[int, int]]:
    """First and last whole second of the measure phase; see pipeline.rates.measured_seconds."""
    labelled: dict[ExecutionId, list[int]] = defaultdict(list)
    for row in rates:
        if row["phase"] == Phase.MEASURE.value and row["role"] == Role.PRODUCER.value:
            labelled[ExecutionId.of(row)].append(row["second_unix_s"])
    return {key: (min(s), max(min(s), max(s) - 1)) for key, s in labelled.items()}


def throughput(rates: list[Row]) -> Figures:
    """Count / measured length, all agents and groups together, over the whole seconds of the measure phase.

    backlog_received_per_s counts from the first to the last second of the drain in which anything arrived; where consumers
    start after the backlog, `backlog_rates` has it exactly.
    """
    bounds = measured_bounds(rates)
    sums: Figures = defaultdict(lambda: defaultdict(float))
    drained: dict[tuple[str, int], dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for row in rates:
        cell, repeat, second = row["cell"], row["repeat"], row["second_unix_s"]
        side = "sent" if row["role"] == "producer" else "received"
        if row["phase"] == Phase.DRAIN.value and row["received"]:
            drained[cell, repeat][second] += row["received"]
        first, last = bounds.get(ExecutionId.of(row), (0, -1))
        if first <= second <= last:
            sums[cell, f"{side}_per_s"][repeat] += row[side]
            sums[cell, f"{side}_bytes_per_s"][repeat] += row["bytes"]
    for (cell, _), values in sums.items():
        for repeat in values:
            first, last = bounds[ExecutionId(cell=cell, repeat=repeat)]
            values[repeat] /= last - first + 1
    for (cell, repeat), per_second in drained.items():
        if len(per_second) > 1:
            length_s = max(per_second) - min(per_second) + 1
            sums[cell, "backlog_received_per_s"][repeat] = sum(per_second.values()) / length_s
    return {key: dict(values) for key, values in sums.items()}


def ceiling_shares(rate: Figures, ceilings: Ceilings | None) -> Figures:
    """Bytes sent, as a share of what disk and loopback can do at most; nothing where that was not measured."""
    if ceilings is None:
        return {}
    most = {
        "sent_share_of_disk": ceilings.disk_write_bytes_per_s,
        "sent_share_of_loopback": ceilings.loopback_bytes_per_s,
    }
    return {
        (cell, share): {repeat: value / limit for repeat, value in values.items()}
        for (cell, metric), values in rate.items()
        if metric == "sent_bytes_per_s"
        for share, limit in most.items()
        if limit > 0
    }


def latencies(per_phase: list[Row]) -> Figures:
    """<measure>_<quantile> of the measure phase; the worst group where there are several."""
    found: Figures = defaultdict(dict)
    for row in per_phase:
        if row["phase"] != Phase.MEASURE.value or row["repeat"] == 0 or row["count"] == 0:
            continue
        for quantile in SUMMARY_QUANTILES:
            values = found[row["cell"], f"{row['measure']}_{quantile}"]
            values[row["repeat"]] = max(values.get(row["repeat"], 0.0), float(row[quantile]))
    return dict(found)


def counts(delivery: list[Row]) -> Figures:
    """Delivery counts: those of sends once per repeat, those of deliveries added over groups. `lost` after a drain only,
    and nothing about deliveries where a cell has no consumers."""
    found: Figures = defaultdict(lambda: defaultdict(float))
    for row in delivery:
        for name in COUNTS:
            if not is_said(name, row):
                continue
            values = found[row["cell"], name]
            if name in OF_SENDS:
                values[row["repeat"]] = float(row[name])
            else:
                values[row["repeat"]] += row[name]
    return {key: dict(values) for key, values in found.items()}


def is_said(name: str, row: Row) -> bool:
    """Whether a count of a row of `delivery` is a statement: a zero may also mean that nothing looked."""
    return name in OF_SENDS or (row["group"] != NO_GROUP and (name != "lost" or row["drained"]))


def figures(
    rates: list[Row],
    per_phase: list[Row],
    delivery: list[Row],
    agents: list[Row],
    *,
    readings: list[Row] | None = None,
    cost: Iterable[Row] = (),
    catch_up: Sequence[Row] = (),
    minutes: Iterable[Row] = (),
    dips: Iterable[Row] = (),
    ceilings: Ceilings | None = None,
    tailing: Collection[str] = (),
) -> Figures:
    """Everything run_summary shows, by cell, metric and repeat; the arguments are rows of rate_per_second,
    latency_per_phase, delivery, agent_health, reading_per_second, cost, catch_up, minute_rate and dip. In the cells
    `tailing` some consumers start before the first send; rows of the others are not among the first two."""
    bounds = measured_bounds(rates)
    cpu: Figures = defaultdict(lambda: defaultdict(float))
    for row in agents:
        cpu[row["cell"], "agent_cpu_cores"][row["repeat"]] += row["cpu_cores_mean"]
    rate = throughput(rates) | course(rates, bounds)
    for row in (r for r in catch_up if r["cell"] not in tailing):  # nothing was to be received, so 0 would be no answer
        for metric in OF_RECEIVING:
            rate.get((row["cell"], metric), {}).pop(row["repeat"], None)
    for key, values in backlog_rates(catch_up).items():
        rate[key] = rate.get(key, {}) | values
    rate = {key: values for key, values in rate.items() if values}
    return {
        **rate, **ceiling_shares(rate, ceilings), **taken_in(readings or [], bounds), **costs(cost),
        **minute_rates(minutes, bounds), **fault_figures(dips),
        **latencies(per_phase), **counts(delivery), **{k: dict(v) for k, v in cpu.items()},
    }  # fmt: skip


def backlog_rates(catch_up: Sequence[Row]) -> Figures:
    """backlog_received_per_s of the table `catch_up`: groups of a set read at the same time and add up; of several sets
    the slowest."""
    sums: dict[ExecutionId, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    unknown = {ExecutionId.of(r) for r in catch_up if r["received_per_s"] is None}
    for row in catch_up:
        if ExecutionId.of(row) not in unknown:
            sums[ExecutionId.of(row)][row.get("consumer_set") or ""] += row["received_per_s"]
    found: Figures = defaultdict(dict)
    for execution, of_sets in sums.items():
        found[execution.cell, "backlog_received_per_s"][execution.repeat] = min(of_sets.values())
    return dict(found)


def fault_figures(dips: Iterable[Row]) -> Figures:
    """Outage and recovery of each side, the worst fault; nothing for an execution in which one did not end."""
    found: Figures = defaultdict(dict)
    endless: set[tuple[str, str, int]] = set()
    for row in dips:
        for name, ended in (("outage_s", "outage_ended"), ("recovery_s", "recovered")):
            key = (row["cell"], f"{row['side']}_{name}", row["repeat"])
            if not row[ended] or row[name] is None:
                endless.add(key)
            else:
                values = found[key[0], key[1]]
                values[key[2]] = max(values.get(key[2], 0.0), row[name])
    for cell, metric, repeat in endless:
        found[cell, metric].pop(repeat, None)
    return {key: values for key, values in found.items() if values}


def costs(rows: Iterable[Row]) -> Figures:
    """The figures of the table `cost`: those of the measure phase, and of a backlog's what has a name of its own."""
    found: Figures = defaultdict(dict)
    for row in rows:
        names = {m.key: m.key for m in COSTS} if row["phase"] == Phase.MEASURE.value else OF_BACKLOG
        for column, metric in names.items():
            if row[column] is not None:
                found[row["cell"], metric][row["repeat"]] = row[column]
    return dict(found)
