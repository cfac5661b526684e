"""What limited a cell, from its numbers alone: thresholds on what was measured, and a plain sentence."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from brokerlab.report import figures
from brokerlab.report.source import Row, Source

AT_LIMIT = 0.9  # share of a resource from which it is called the limit
OURS = {"probe", "runner"}  # processes that are neither agents nor brokers
GROWING = 0.01  # backlog growth, as a share of the rate received, from which consumers fell behind


@dataclass(frozen=True)
class Use:
    """How much of one resource a cell used in its measure phase: mean over seconds, the worst repeat."""

    resource: str
    used: str
    share: float | None  # of what there is; None where that is not known
    at_limit: bool


def _mean(values: Iterable[float]) -> float | None:
    numbers = list(values)
    return sum(numbers) / len(numbers) if numbers else None


def worst_mean(readings: list[Row], subject: str, metric: str) -> float | None:
    """Mean over the seconds of each repeat, then the largest repeat."""
    by_repeat: dict[int, list[float]] = defaultdict(list)
    for r in readings:
        if r["subject"] == subject and r["metric"] == metric:
            by_repeat[r["repeat"]].append(r["value"])
    means = [m for m in map(_mean, by_repeat.values()) if m is not None]
    return max(means, default=None)


def uses(source: Source, cell: str) -> list[Use]:
    """Every resource with a figure: agents, broker nodes, the host's CPU, the disk, the consumers."""
    readings = source.table("reading_per_second").rows(cell=cell, phase="measure")
    found = [*_agents(source, cell), *_processors(source, cell, readings), *_disk(readings)]
    return [*found, *_consumers(source, cell)]


def _agents(source: Source, cell: str) -> list[Use]:
    agents = source.table("agent_health").rows(cell=cell)
    if not agents:
        return []
    worst = max(agents, key=lambda a: a["cpu_cores_mean"])
    share = worst["cpu_cores_mean"]
    return [Use(f"agent {worst['agent']}", f"{figures.cores(share)} of the one it can use", share, share >= AT_LIMIT)]


def _processors(source: Source, cell: str, readings: list[Row]) -> list[Use]:
    found: list[Use] = []
    count = source.environment.host.cpu_count if source.environment is not None else None
    busy = worst_mean(readings, "host", "cpu_busy_cores")
    if busy is not None:
        share = busy / count if count else None
        of = f" of {count}" if count else ""
        found.append(Use("host CPU", f"{figures.cores(busy)}{of}", share, share is not None and share >= AT_LIMIT))
    agents = {a["agent"] for a in source.table("agent_health").rows(cell=cell)}
    for subject in sorted({r["subject"] for r in readings if r["subject"].startswith("process:")}):
        name = subject.removeprefix("process:")
        cores = worst_mean(readings, subject, "cpu_cores")
        if name in agents or name in OURS or cores is None or name.startswith("consumer-"):
            continue
        share = cores / count if count else None
        found.append(Use(f"broker {name} CPU", figures.cores(cores), share, share is not None and share >= AT_LIMIT))
    return found


def _disk(readings: list[Row]) -> list[Use]:
    busy = worst_mean(readings, "host", "disk_busy_ms_per_s")
    written = worst_mean(readings, "host", "disk_write_bytes_per_s")
    if busy is None:
        return [] if written is None else [Use("disk", f"{figures.size(written)}/s written", None, False)]
    share = busy / 1000
    wrote = f", {figures.size(written)}/s written" if written is not None else ""
    return [Use("disk", f"busy{wrote}", share, share >= AT_LIMIT)]


def _consumers(source: Source, cell: str) -> list[Use]:
    """The backlog each group had gathered over the measure phase, the worst repeat and group."""
    plan = source.cell_plan(cell)
    worst: tuple[float, float, str] | None = None
    rates = source.table("rate_per_second").rows(cell=cell, phase="measure")
    for repeat in sorted({r["repeat"] for r in rates}):
        mine = [r for r in rates if r["repeat"] == repeat]
        sent = sum(r["sent"] for r in mine if r["role"] == "producer")
        for group in sorted({r["group"] for r in mine if r["role"] == "consumer"}):
            if plan is not None and plan.set_of(group).starts_late:
                continue  # a backlog is what was asked for
            received = sum(r["received"] for r in mine if r["role"] == "consumer" and r["group"] == group)
            growth = sent - received
            if sent and (worst is None or growth / sent > worst[1]):
                worst = (growth, growth / sent, group)
    if worst is None:
        return []
    grew = max(worst[0], 0.0)
    text = f"backlog grew by {figures.count(grew)} messages" if worst[1] > GROWING else "kept up"
    return [Use("consumers", text, None, worst[1] > GROWING)]


def likely_limit(source: Source, cell: str) -> str:
    """One sentence for people."""
    found = uses(source, cell)
    if not found:
        return "There are no readings to judge from."
    at_limit = [u for u in found if u.at_limit]
    if at_limit:
        listed = "; ".join(f"{u.resource} ({u.used})" for u in at_limit)
        return f"At its limit: {listed}."
    plan = source.cell_plan(cell)
    nearest = max((u for u in found if u.share is not None), key=lambda u: u.share or 0, default=None)
    near = f" Nearest to it: {nearest.resource}, {nearest.used}." if nearest else ""
    if plan is not None and plan.producers.schedule.arrival == "closed":
        return (
            "Nothing visible was at its limit: in a closed loop the window of unacknowledged messages divided by the "
            f"latency bounds the rate.{near}"
        )
    return f"Nothing visible was at its limit: the schedule set the rate.{near}"
