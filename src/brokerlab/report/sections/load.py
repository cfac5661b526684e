"""Was the load real? What was asked, what was sent and received, and how late our own sending was."""

from __future__ import annotations

from brokerlab.judge import limits
from brokerlab.model.plan import CellPlan
from brokerlab.report import figures
from brokerlab.report.grid import Cell, grid
from brokerlab.report.markup import Child, Html, tag
from brokerlab.report.sections.answer import summary_rows
from brokerlab.report.sections.catch_up import catch_up_table
from brokerlab.report.source import Row, Source


def target_rate(plan: CellPlan) -> float | None:
    """Mean messages a second asked of all producers in the measure phase; None in a closed loop."""
    schedule = plan.producers.schedule
    if schedule.rate_per_s is None or schedule.arrival == "closed":
        return None
    rate = schedule.rate_per_s
    if schedule.arrival == "burst" and schedule.burst_rate_per_s and schedule.burst_s and schedule.burst_every_s:
        share = schedule.burst_s / schedule.burst_every_s
        rate = schedule.burst_rate_per_s * share + rate * (1 - share)
    if schedule.arrival == "ramp" and schedule.ramp_to_rate_per_s is not None:
        whole = plan.phases.warm_up_s + plan.phases.measure_s
        middle = (plan.phases.warm_up_s + plan.phases.measure_s / 2) / whole if whole else 0.5
        rate += (schedule.ramp_to_rate_per_s - rate) * middle
    return rate * plan.producers.count


def load_section(source: Source) -> Html:
    cells = source.cells()
    rows = [_row(source, c) for c in cells]
    heads = (
        "Cell",
        "Target",
        "Sent",
        "Received",
        "Send delay p50",
        "Send delay p99",
        "Busiest agent",
        "Most behind",
    )
    caption = (
        "Measure phase; medians over repeats. Send delay is our own lateness: from when a message was due until it was "
        "handed to the client (all repeats merged)."
    )
    return tag(
        "section",
        tag("h2", "Was the load real?"),
        grid(caption, heads, rows) if rows else tag("p", "No cells are known.", class_="absent"),
        catch_up_table(source),
        id="load",
    )


def _row(source: Source, cell: str) -> list[Child | Cell]:
    plan = source.cell_plan(cell)
    target = target_rate(plan) if plan else None
    sent = summary_rows(source, "sent_per_s").get(cell)
    received = summary_rows(source, "received_per_s").get(cell)
    delays = source.table("latency_per_phase").rows(cell=cell, repeat=0, phase="measure", measure="send_delay")
    delay = delays[0] if delays else None
    return [
        Cell(source.label(cell), cell if source.label(cell) != cell else None),
        _asked(plan, target),
        _sent(sent, target),
        _received(plan, received),
        Cell(figures.duration(delay["p50_ns"]) if delay else figures.ABSENT),
        Cell(
            figures.duration(delay["p99_ns"]) if delay else figures.ABSENT,
            f"n = {figures.count(delay['count'])}" if delay else None,
        ),
        _busiest(source, cell),
        _behind(source, cell),
    ]


def _asked(plan: CellPlan | None, target: float | None) -> Cell:
    if plan is None:
        return Cell(figures.ABSENT)
    schedule = plan.producers.schedule
    if target is None:
        how = f"window {figures.count(schedule.window)}"
        if schedule.batch_least is not None:
            how = (
                f"batches of {figures.count(schedule.batch_least)} to {figures.count(schedule.window)}, one at a time,"
            )
        return Cell("as fast as possible", f"{how} × {plan.producers.count}{_until(plan)}")
    producers = figures.plural(plan.producers.count, "producer")
    return Cell(figures.rate(target), f"{schedule.arrival}, {producers}{_until(plan)}")


def _until(plan: CellPlan) -> str:
    messages = plan.producers.messages
    return "" if messages is None else f", until {figures.count(messages)} messages were sent"


def _sent(row: Row | None, target: float | None) -> Cell:
    if row is None:
        return Cell(figures.ABSENT)
    if not target:
        return _spread("sent_per_s", row)
    share = row["median"] / target
    bar = tag("span", tag("i", style=f"width:{min(share, 1) * 100:.1f}%"), class_="bar", aria_hidden="true")
    short = share < limits.ACHIEVED_SHARE
    sub = tag("span", bar, f"{figures.percent(share)} of target")
    return Cell(figures.rate(row["median"]), sub, kind="bad" if short else "")


def _received(plan: CellPlan | None, row: Row | None) -> Cell:
    late = [of for of in plan.consumer_sets if of.starts_late] if plan is not None else []
    if row is None and late:
        return Cell(figures.ABSENT, "consumers start later: see catching up")
    tailing = plan.groups - sum(of.groups for of in late) if plan is not None else 0
    if row is None or (tailing < 2 and not late):
        return _spread("received_per_s", row)
    return Cell(
        figures.rate(row["median"]), f"{figures.plural(tailing, 'group')} that tail{'s' if tailing == 1 else ''}"
    )


def _spread(metric: str, row: Row | None) -> Cell:
    if row is None:
        return Cell(figures.ABSENT)
    if row["n"] < 2:
        return Cell(figures.quantity(metric, row["median"]), "one repeat")
    return Cell(
        figures.quantity(metric, row["median"]),
        f"{figures.quantity(metric, row['low'])} to {figures.quantity(metric, row['high'])}",
    )


def _busiest(source: Source, cell: str) -> Cell:
    agents = source.table("agent_health").rows(cell=cell)
    if not agents:
        return Cell(figures.ABSENT)
    worst = max(agents, key=lambda a: a["cpu_cores_mean"])
    busy = worst["cpu_cores_mean"] > limits.AGENT_CPU_CORES
    return Cell(
        figures.cores(worst["cpu_cores_mean"]),
        f"{worst['agent']}, repeat {worst['repeat']}",
        kind="bad" if busy else "",
    )


def _behind(source: Source, cell: str) -> Cell:
    agents = source.table("agent_health").rows(cell=cell, role="producer")
    if not agents:
        return Cell(figures.ABSENT)
    worst = max(agents, key=lambda a: a["behind_max"])
    full = sum(a["buffer_full"] for a in agents)
    return Cell(figures.count(worst["behind_max"]), f"client full {figures.count(full)} times" if full else None)
