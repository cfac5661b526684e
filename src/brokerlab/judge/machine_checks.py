"""Whether the machine let us measure: were we late ourselves, and who took the processors?"""

from __future__ import annotations

import time
from collections.abc import Iterable

from brokerlab.judge.findings import Findings, Weight, is_closed, reason
from brokerlab.judge.summary import Row
from brokerlab.model.plan import Phase
from brokerlab.results.disturbance import (
    NOISE_LIMIT_CORES,
    NOISE_METRICS,
    NOISE_OF_A_SECOND_CORES,
    SEND_DELAY_FLOOR_NS,
    SEND_DELAY_SHARE_LIMIT,
    is_late,
)
from brokerlab.results.verdict import Reason


def send_delay(f: Findings) -> Iterable[Reason]:
    """Open loop: p99 of our own lateness above 10 % of the latency's p99; up to 1 ms it is only noted."""
    p99: dict[tuple[str, int], dict[str, int]] = {}
    for row in f.rows("latency_per_phase"):
        if row["phase"] == Phase.MEASURE.value and row["repeat"] > 0 and row["count"] > 0:
            of = p99.setdefault((row["cell"], row["repeat"]), {})
            of[row["measure"]] = max(of.get(row["measure"], 0), row["p99_ns"])
    for (cell, repeat), of in sorted(p99.items()):
        latency = of.get("end_to_end_latency", of.get("publish_latency"))
        delay = of.get("send_delay", 0)
        if is_closed(f.cell(cell)) or latency is None or delay <= latency * SEND_DELAY_SHARE_LIMIT:
            continue
        late = is_late(delay, latency)
        begin = "the agent itself was late" if late else "part of the latency is the agent's own lateness"
        text = (
            f"{begin}: send_delay p99 {delay / 1e6:.1f} ms is {delay / latency:.0%} of the latency's p99"
            f" {latency / 1e6:.1f} ms (at most {SEND_DELAY_SHARE_LIMIT:.0%} above {SEND_DELAY_FLOOR_NS / 1e6:.0f} ms)"
        )
        where = {"cell": cell, "repeat": repeat}
        weight: Weight = "invalid" if late else "note"
        if late:
            text += _worst_second(f, cell, repeat)
        yield reason("send_delay", weight, where, text, delay / latency, SEND_DELAY_SHARE_LIMIT)


def _worst_second(f: Findings, cell: str, repeat: int) -> str:
    """When we were latest, and who else had the processors then: the reader's next question."""
    seconds = [
        row
        for row in f.rows("latency_per_second")
        if (row["cell"], row["repeat"], row["measure"], row["phase"])
        == (cell, repeat, "send_delay", Phase.MEASURE.value)
    ]
    if not seconds:
        return ""
    worst = max(seconds, key=lambda row: row["p99_ns"])
    at = worst["second_unix_s"]
    # A reading tells of the second before it, and is not taken on the second: the neighbours count too.
    around = [r for r in _noise(f) if (r["cell"], r["repeat"]) == (cell, repeat) and abs(r["second_unix_s"] - at) <= 1]
    clock = time.strftime("%H:%M:%S", time.gmtime(at))
    text = f"; worst at {clock} UTC, {worst['p99_ns'] / 1e6:.1f} ms"
    if not around:
        return text
    most = {m: max((r["value"] for r in around if r["metric"] == m), default=0.0) for m in NOISE_METRICS}
    said = [
        f"{cores:.2f} cores were {NOISE_METRICS[m]}" for m, cores in most.items() if cores > NOISE_OF_A_SECOND_CORES[m]
    ]
    return f"{text}, when " + (" and ".join(said) or f"nobody else took more than {max(0.0, *most.values()):.2f} cores")


def noisy_neighbour(f: Findings) -> Iterable[Reason]:
    """Mean over the measure phase of CPU that others took, above 20 % of a core."""
    values: dict[tuple[str, int, str], list[float]] = {}
    for row in _noise(f):
        if row["phase"] == Phase.MEASURE.value:
            values.setdefault((row["cell"], row["repeat"], row["metric"]), []).append(row["value"])
    for (cell, repeat, metric), of in sorted(values.items()):
        mean = sum(of) / len(of)
        if mean > NOISE_LIMIT_CORES:
            text = f"{mean:.2f} cores were {NOISE_METRICS[metric]} (limit {NOISE_LIMIT_CORES})"
            row = {"cell": cell, "repeat": repeat}
            yield reason("noisy_neighbour", "cannot tell", row, text, mean, NOISE_LIMIT_CORES)


def disturbed(f: Findings) -> Iterable[Reason]:
    """What was run again because the machine disturbed it: a reader must know what was left out, and why."""
    for execution in f.plan.order:
        texts = f.execution_state(execution.cell, execution.repeat).disturbed
        for attempt, text in enumerate(texts, 1):
            where = {"cell": execution.cell, "repeat": execution.repeat}
            yield reason("disturbed", "note", where, f"attempt {attempt} was left out and run again: {text}")


def _noise(f: Findings) -> list[Row]:
    return [r for r in f.rows("reading_per_second") if r["subject"] == "host" and r["metric"] in NOISE_METRICS]
