"""cost: CPU, disk and storage per message, from the counts and readings of each second."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from brokerlab.judge.figures import measured_bounds
from brokerlab.model.execution_id import ExecutionId
from brokerlab.model.plan import Phase

Row = Mapping[str, Any]
OURS = ("probe", "runner")  # processes that are neither agents nor nodes
STORED = ("cluster", "stored_bytes")  # subject and metric of the bytes in the data directories
_METRICS = ("cpu_cores", "write_bytes_per_s", STORED[1])
_NO_AGENTS = "no such agents were at work"
ENOUGH_SECONDS = 0.9  # of the seconds of a phase must have a reading of each node
NEARLY_NOTHING_BYTES = 1 << 20  # data directories may shrink by so much: indexes and locks come and go
_SHARED_SECOND = "messages were still sent in a second of the reading"


@dataclass
class _Reasons:
    """Figures that are null, with why; each said once."""

    found: dict[str, str] = field(default_factory=dict)

    def ratio(self, name: str, total: float | str, messages: int, noun: str) -> float | None:
        """total / messages; a total that is a sentence says why it is not known."""
        if isinstance(total, str):
            self.found[name] = total
        elif messages <= 0:
            self.found[name] = f"no messages were {noun}"
        else:
            return total / messages
        return None

    def text(self) -> str:
        by_reason: dict[str, list[str]] = defaultdict(list)
        for name, reason in self.found.items():
            by_reason[reason].append(name)
        return "; ".join(f"{', '.join(names)}: {reason}" for reason, names in by_reason.items())


def cost_rows(
    rates: list[Row], readings: list[Row], agents: Collection[str], after_backlog: Collection[str] = ()
) -> list[dict[str, Any]]:
    """Rows of the table of that name. `rates` and `readings` are rate_per_second and reading_per_second, `agents` the
    names of load processes; consumers of the cells `after_backlog` start when all was sent."""
    by_execution = _by_execution(rates)
    of_readings = _by_execution(r for r in readings if r["metric"] in _METRICS)
    found = []
    for execution, (first, last) in sorted(measured_bounds(rates).items(), key=lambda item: str(item[0])):
        mine, read = by_execution[execution], of_readings.get(execution, [])
        spans = {Phase.MEASURE.value: (first, last)}
        arrived = [r["second_unix_s"] for r in mine if r["phase"] == Phase.DRAIN.value and r["received"]]
        if execution.cell in after_backlog and arrived:
            spans[Phase.DRAIN.value] = (min(arrived), max(arrived))
        for phase, span in spans.items():
            row = _row(phase, span, mine, read, agents)
            found.append({"cell": execution.cell, "repeat": execution.repeat, "phase": phase, **row})
    return found


def _by_execution(rows: Iterable[Row]) -> dict[ExecutionId, list[Row]]:
    found: dict[ExecutionId, list[Row]] = defaultdict(list)
    for row in rows:
        found[ExecutionId.of(row)].append(row)
    return found


def _row(
    phase: str, span: tuple[int, int], rates: list[Row], readings: list[Row], agents: Collection[str]
) -> dict[str, Any]:
    first, last = span
    seconds = last - first + 1
    within = [r for r in rates if first <= r["second_unix_s"] <= last]
    sent, received = sum(r["sent"] for r in within), sum(r["received"] for r in within)
    messages, noun = (received, "received") if phase == Phase.DRAIN.value else (sent, "sent")
    cpu = {role: _client_cpu_us(within, role) for role in ("producer", "consumer")}
    why = _Reasons()
    nodes = _Nodes([r for r in readings if first <= r["second_unix_s"] <= last], agents, seconds)
    shared = phase == Phase.DRAIN.value and sent > 0
    written = _SHARED_SECOND if shared else nodes.total("write_bytes_per_s")
    row = {
        "seconds": seconds, "sent": sent, "received": received,
        "producer_cpu_us_per_message": why.ratio("producer_cpu", cpu["producer"], sent, "sent"),
        "consumer_cpu_us_per_message": why.ratio("consumer_cpu", cpu["consumer"], received, "received"),
        "client_cpu_us_per_message": why.ratio("client_cpu", _together(cpu.values()), messages, noun),
        "broker_cpu_us_per_message": why.ratio("broker_cpu", nodes.total("cpu_cores", 1e6), messages, noun),
        "broker_disk_written_bytes_per_message": why.ratio("broker_disk_written", written, messages, noun),
        "stored_bytes_per_message": why.ratio("stored", *_stored(rates, readings), "sent"),
    }  # fmt: skip
    return {**row, "reason": why.text()}


def _together(cpu_us: Iterable[float | str]) -> float | str:
    """The sum over roles; a role without agents has no part in it."""
    known = [cpu for cpu in cpu_us if cpu != _NO_AGENTS]
    return next((cpu for cpu in known if isinstance(cpu, str)), sum(cpu for cpu in known if not isinstance(cpu, str)))


def _client_cpu_us(rates: list[Row], role: str) -> float | str:
    values = [r.get("cpu_ns") for r in rates if r["role"] == role]
    if not values:
        return _NO_AGENTS
    known = [v for v in values if v is not None]
    return sum(known) / 1e3 if len(known) == len(values) else "the CPU time of agents was not kept"


@dataclass(frozen=True)
class _Nodes:
    """Readings of the nodes' processes within some seconds."""

    readings: list[Row]
    agents: Collection[str]
    seconds: int

    def total(self, metric: str, scale: float = 1.0) -> float | str:
        """Sum over nodes of the mean of `metric` x seconds x scale; a sentence where that is not known."""
        by_node: dict[str, list[float]] = defaultdict(list)
        for row in self.readings:
            kind, _, name = row["subject"].partition(":")
            if kind == "process" and name not in self.agents and name not in OURS and row["metric"] == metric:
                by_node[name].append(row["value"])
        if not by_node:
            return "no node's process was read"
        for name, values in by_node.items():
            if len(values) < ENOUGH_SECONDS * self.seconds:
                return f"{name} was read in {len(values)} of {self.seconds} s"
        total = sum(sum(values) / len(values) for values in by_node.values()) * self.seconds * scale
        if metric == "write_bytes_per_s" and total == 0 and self._data_grew():
            return "the kernel does not count what these processes write"
        return total

    def _data_grew(self) -> bool:
        sizes = [r["value"] for r in self.readings if (r["subject"], r["metric"]) == STORED]
        return bool(sizes) and max(sizes) > min(sizes)


def _stored(rates: list[Row], readings: list[Row]) -> tuple[float | str, int]:
    """By how much the data directories grew until all was sent, and how many messages that were."""
    at = {r["second_unix_s"]: r["value"] for r in readings if (r["subject"], r["metric"]) == STORED}
    sending = [r["second_unix_s"] for r in rates if r["sent"]]
    sent = sum(r["sent"] for r in rates)
    if not at:
        return "the data directories were not read", sent
    if not sending:
        return 0.0, 0
    after = [s for s in at if s > max(sending)]
    if min(at) >= min(sending):
        return "the data directories were not read before the load", sent
    if not after:
        return "the data directories were not read after all was sent", sent
    sizes = [at[second] for second in sorted(at) if second <= min(after)]
    if any(before - now > NEARLY_NOTHING_BYTES for before, now in pairwise(sizes)):
        return "the data directories also shrank meanwhile: what was deleted before was still going", sent
    return sizes[-1] - sizes[0], sent
