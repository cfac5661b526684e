"""Did the load happen as planned, and were our own agents up to it?"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from brokerlab.judge import limits
from brokerlab.judge.figures import Row
from brokerlab.judge.findings import Findings, by_execution, is_closed
from brokerlab.judge.machine_checks import processors_around
from brokerlab.judge.reasons import LATENCIES, RATES_AND_LATENCIES, Found, check
from brokerlab.judge.tailing import tailing_groups
from brokerlab.model.execution_id import ExecutionId
from brokerlab.model.metrics import WITHOUT_LATENESS, measure_words
from brokerlab.model.plan import CellPlan, Phase
from brokerlab.model.quantiles import JUDGED_QUANTILES, quantile_words


def _scheduled(rows: Iterable[Row]) -> dict[ExecutionId, Mapping[str, int]]:
    """Messages due, sent before the drain and sent later, of each execution's producers."""
    sums: dict[ExecutionId, dict[str, int]] = {}
    for row in rows:
        if row["role"] == "producer":
            totals = sums.setdefault(ExecutionId.of(row), {"due": 0, "sent": 0, "late": 0})
            totals["late" if row["phase"] == Phase.DRAIN.value else "sent"] += row["sent"]
            totals["due"] += row["due"]
    return dict(sorted(sums.items(), key=lambda item: str(item[0])))


@check(
    "load_not_delivered", weight="invalid", cause="load", affects=RATES_AND_LATENCIES,
    rule=f"open loop: messages sent before the drain / messages due < {limits.ACHIEVED_SHARE:.0%}",
)  # fmt: skip
def load_not_delivered(f: Findings) -> Iterable[Found]:
    for execution, totals in _scheduled(f.rows("rate_per_second")).items():
        if totals["due"] == 0 or is_closed(f.cell(execution.cell)):
            continue
        achieved = totals["sent"] / totals["due"]
        if achieved < limits.ACHIEVED_SHARE:
            text = (
                f"the load was not delivered: {totals['sent']:,} of {totals['due']:,} messages due were sent in time"
                f" ({achieved:.1%}; at least {limits.ACHIEVED_SHARE:.0%} is needed)"
            )
            yield Found(execution, text, achieved, limits.ACHIEVED_SHARE)


@check(
    "nothing_sent", weight="invalid", cause="broker", affects=RATES_AND_LATENCIES,
    rule="closed loop: no message was sent in the measure phase",
)  # fmt: skip
def nothing_sent(f: Findings) -> Iterable[Found]:
    """An open loop has messages due, and is found by what it did not deliver."""
    sent: dict[ExecutionId, int] = defaultdict(int)
    for row in f.rows("rate_per_second"):
        if row["role"] == "producer" and is_closed(f.cell(row["cell"])):
            sent[ExecutionId.of(row)] += row["sent"] if row["phase"] == Phase.MEASURE.value else 0
    for execution, count in sorted(sent.items(), key=lambda item: str(item[0])):
        if count == 0 and f.is_finished(execution):
            text = "no message was sent in the measure phase: those sent before it were not answered"
            yield Found(execution, text, 0.0)


@check(
    "load_not_scheduled", weight="invalid", cause="agent", affects=RATES_AND_LATENCIES,
    rule=f"uniform rates: messages due / messages the plan asks for < {limits.ACHIEVED_SHARE:.0%}",
)  # fmt: skip
def load_not_scheduled(f: Findings) -> Iterable[Found]:
    """A stalled agent could forget to schedule."""
    for execution, totals in _scheduled(f.rows("rate_per_second")).items():
        cell = f.cell(execution.cell)
        schedule = cell.producers.schedule
        if schedule.arrival != "uniform" or schedule.rate_per_s is None or not f.is_finished(execution):
            continue
        rate_per_s, messages = schedule.rate_per_s * cell.producers.count, cell.producers.messages
        measured = rate_per_s * cell.phases.measure_s
        planned = rate_per_s * cell.phases.warm_up_s + (measured if messages is None else min(measured, messages))
        share = totals["due"] / planned
        if share < limits.ACHIEVED_SHARE:
            text = (
                f"the agents scheduled {totals['due']:,} messages where the plan asks for {planned:,.0f} ({share:.1%})"
            )
            yield Found(execution, text, share, limits.ACHIEVED_SHARE)


@check(
    "number_not_reached", weight="note", cause="load", affects=RATES_AND_LATENCIES,
    rule="producers.messages: fewer were sent when phases.measure was over",
)  # fmt: skip
def number_not_reached(f: Findings) -> Iterable[Found]:
    sent: dict[ExecutionId, int] = defaultdict(int)
    for row in f.rows("latency_per_phase"):  # every message that was sent in the phase has a send_delay
        if row["measure"] == "send_delay" and row["phase"] == Phase.MEASURE.value and row["repeat"]:
            sent[ExecutionId.of(row)] += row["count"]
    for execution, count in sorted(sent.items(), key=lambda item: str(item[0])):
        cell = f.cell(execution.cell)
        wanted = cell.producers.messages
        if wanted is not None and count < wanted and f.is_finished(execution):
            text = f"{count:,} of {wanted:,} messages were sent when {cell.phases.measure_s:g} s were over"
            yield Found(execution, text, count, wanted)


@check(
    "agent_saturated", weight="invalid", cause="agent", affects=RATES_AND_LATENCIES,
    rule=f"an agent > {limits.AGENT_CPU_CORES:.2f} cores while it is behind its schedule, or while its group receives"
         f" < {limits.ACHIEVED_SHARE:.0%} of what is sent; a note in a closed loop and while a backlog is read. Agents that `placement` puts on fewer"
         " cores than there are agents have an equal part of that limit each",
)  # fmt: skip
def agent_saturated(f: Findings) -> Iterable[Found]:
    for row in f.rows("agent_health"):
        cpu, limit = (
            row["cpu_cores_mean"],
            limits.AGENT_CPU_CORES * _cores_of_an_agent(f.cell(row["cell"]), row["role"]),
        )
        if cpu <= limit:
            continue
        closed = _goes_as_fast_as_it_can(f.cell(row["cell"]), row)
        if not closed and not _is_behind(f, row):
            continue
        tail = "the maximum found may be the agent's, not the broker's" if closed else "it was behind: it was the limit"
        text = f"agent {row['agent']} used {cpu:.2f} cores (limit {limit:.2g}); {tail}"
        yield Found(ExecutionId.of(row), text, cpu, limit, weight="note" if closed else None)


def _goes_as_fast_as_it_can(cell: CellPlan, row: Row) -> bool:
    """A producer in a closed loop, and a consumer that reads a backlog."""
    if row["role"] == "producer":
        return is_closed(cell)
    return any(of.starts_late and row["agent"].startswith(of.agent_prefix()) for of in cell.consumer_sets)


def _cores_of_an_agent(cell: CellPlan, role: str) -> float:
    """What an agent can use: one core, or its part of those that it shares with other agents by `placement`."""
    producers, consumers = set(cell.machine.producer_cores), set(cell.machine.consumer_cores)
    own = producers if role == "producer" else consumers
    if not own:
        return 1.0
    agents = cell.producers.agents * bool(own & producers)
    agents += sum(of.all_agents for of in cell.consumer_sets) * bool(own & consumers)
    return min(1.0, len(own) / max(agents, 1))


def _is_behind(f: Findings, row: Row) -> bool:
    """Whether an agent was behind: a producer by its schedule, a consumer by what was sent."""
    cell = f.cell(row["cell"])
    sent = f.figures.get((cell.cell, "sent_per_s"), {}).get(row["repeat"], 0.0)
    if row["role"] == "producer":
        return bool(row["behind_max"] > limits.BEHIND_SHARE * max(sent / cell.producers.agents, 1.0))
    received = f.figures.get((cell.cell, "received_per_s"), {}).get(row["repeat"], 0.0)
    return received < limits.ACHIEVED_SHARE * sent * tailing_groups(cell)


@dataclass(frozen=True)
class Lateness:
    """One quantile of one latency, with our own lateness and without it."""

    measure: str
    quantile: str
    with_ns: int
    without_ns: int

    @property
    def added_ns(self) -> int:
        return self.with_ns - self.without_ns

    def is_too_much(self) -> bool:
        return self.added_ns > max(limits.LATENESS_FLOOR_NS, limits.LATENESS_SHARE * self.without_ns)


def latenesses(rows: Iterable[Row]) -> list[Lateness]:
    """Every judged quantile of one execution's rows of latency_per_phase, measure phase, by group.

    Evidence of 0.1.0 has no latencies without our lateness: there the p99 of send_delay is the most it can have added.
    """
    of = {(r["measure"], r["group"]): r for r in rows if r["count"] > 0}
    delays = [r for (measure, _), r in of.items() if measure == "send_delay"]
    found = []
    for measure, without in WITHOUT_LATENESS.items():
        for (name, group), row in of.items():
            if name != measure:
                continue
            other = of.get((without, group))
            for quantile in JUDGED_QUANTILES if other is not None else ("p99_ns",):
                delay_ns = max((int(d[quantile]) for d in delays), default=0)
                without_ns = row[quantile] - delay_ns if other is None else other[quantile]
                found.append(Lateness(measure, quantile, row[quantile], max(without_ns, 0)))
    return found


@check(
    "send_delay", weight="invalid", cause="agent", affects=LATENCIES,
    rule=f"open loop: our own lateness adds more than {limits.LATENESS_SHARE:.0%} and more than"
         f" {limits.LATENESS_FLOOR_NS / 1e6:.0f} ms to a quantile that is judged"
         f" ({', '.join(quantile_words(q) for q in JUDGED_QUANTILES)}): the latency counted from the scheduled time against"
         " the same without our lateness. The reason names the worst second and what else used the processors then",
)  # fmt: skip
def send_delay(f: Findings) -> Iterable[Found]:
    for execution, rows in f.measured("latency_per_phase").items():
        if is_closed(f.cell(execution.cell)):
            continue
        late = [lateness for lateness in latenesses(rows) if lateness.is_too_much()]
        if not late:
            continue
        worst = max(late, key=lambda lateness: lateness.added_ns)
        text = (
            f"the agent itself was late: {quantile_words(worst.quantile)} of {measure_words(worst.measure)} is"
            f" {worst.with_ns / 1e6:.1f} ms with our lateness and {worst.without_ns / 1e6:.1f} ms without it"
            f" (at most {limits.LATENESS_SHARE:.0%} or {limits.LATENESS_FLOOR_NS / 1e6:.0f} ms apart){_worst_second(f, execution)}"
        )
        share = worst.added_ns / max(worst.without_ns, 1)
        yield Found(execution, text, share, limits.LATENESS_SHARE)


def _worst_second(f: Findings, execution: ExecutionId) -> str:
    """When we were latest, and what else used the processors then: the reader's next question."""
    seconds = [
        row
        for row in f.rows("latency_per_second")
        if row["measure"] == "send_delay" and row["phase"] == Phase.MEASURE.value and ExecutionId.of(row) == execution
    ]
    if not seconds:
        return ""
    worst = max(seconds, key=lambda row: row["p99_ns"])
    at = worst["second_unix_s"]
    used = processors_around(f, execution, at)
    return f"; worst at {clock(at)} UTC, {worst['p99_ns'] / 1e6:.1f} ms" + (f", when {used}" if used else "")


@check(
    "agent_paused", weight="invalid", cause="agent", affects=RATES_AND_LATENCIES,
    rule=f"an agent's process did not run for more than {limits.AGENT_PAUSE_NS / 1e6:.0f} ms in the measure phase",
)  # fmt: skip
def agent_paused(f: Findings) -> Iterable[Found]:
    """Stopped, or starved of processors. Latencies and rates then tell of the agent, whatever the broker did."""
    for row in f.rows("agent_health"):
        pause_ns = row.get("longest_pause_ns") or 0
        if pause_ns > limits.AGENT_PAUSE_NS:
            text = f"agent {row['agent']} did not run for {pause_ns / 1e9:.1f} s at {clock(row['longest_pause_unix_s'])} UTC"
            yield Found(ExecutionId.of(row), text, pause_ns / 1e9, limits.AGENT_PAUSE_NS / 1e9)


@check(
    "client_blocked", weight="note", cause="broker", affects=(),
    rule="the client took fewer messages than were due: its buffer was full, or its connection was lost. The wait counts in"
         " the latencies and not as our lateness",
)  # fmt: skip
def client_blocked(f: Findings) -> Iterable[Found]:
    blocked: dict[ExecutionId, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for execution, rows in by_execution(f.rows("rate_per_second")).items():
        if is_closed(f.cell(execution.cell)):
            continue
        for row in rows:
            if row["phase"] == Phase.MEASURE.value and row.get("buffer_full"):
                blocked[execution][row["second_unix_s"]] += row["buffer_full"]
    for execution, seconds in blocked.items():
        text = (
            f"the client took fewer messages than were due in {len(seconds)} s of the measure phase, first at"
            f" {clock(min(seconds))} UTC: its buffer was full or its connection was lost"
        )
        yield Found(execution, text, float(len(seconds)))


def clock(second_unix_s: int) -> str:
    return time.strftime("%H:%M:%S", time.gmtime(second_unix_s))
