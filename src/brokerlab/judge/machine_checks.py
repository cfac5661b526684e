"""Did the machine let us measure? What else used the processors, and whether the clock was steady."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from brokerlab.judge import limits
from brokerlab.judge.figures import Row
from brokerlab.judge.findings import Findings
from brokerlab.judge.reasons import RATES_AND_LATENCIES, Found, check
from brokerlab.model.execution_id import ExecutionId
from brokerlab.model.plan import Phase

TAKEN = {"cpu_steal_cores": "taken by the hypervisor", "cpu_foreign_cores": "used by other programs"}
SHARES = {"cpu_steal_cores": limits.STOLEN_SHARE, "cpu_foreign_cores": limits.FOREIGN_SHARE}


def _taken(f: Findings) -> list[Row]:
    return [r for r in f.rows("reading_per_second") if r["subject"] == "host" and r["metric"] in TAKEN]


@check(
    "noisy_neighbour", weight="cannot tell", cause="machine", affects=RATES_AND_LATENCIES,
    rule=f"mean of the measure phase: `cpu_foreign_cores` > {limits.FOREIGN_SHARE:.0%} or `cpu_steal_cores` >"
         f" {limits.STOLEN_SHARE:.0%} of the host's processors",
)  # fmt: skip
def noisy_neighbour(f: Findings) -> Iterable[Found]:
    values: dict[tuple[str, int, str], list[float]] = defaultdict(list)
    for row in _taken(f):
        if row["phase"] == Phase.MEASURE.value:
            values[row["cell"], row["repeat"], row["metric"]].append(row["value"])
    for (cell, repeat, metric), of in sorted(values.items()):
        mean, limit = sum(of) / len(of), SHARES[metric] * f.cpu_count()
        if mean > limit:
            text = f"{mean:.2f} of {f.cpu_count()} cores were {TAKEN[metric]} (limit {limit:.1f})"
            yield Found(ExecutionId(cell=cell, repeat=repeat), text, mean, limit)


@check(
    "clock_stepped", weight="cannot tell", cause="machine", affects=RATES_AND_LATENCIES,
    rule=f"the UNIX and the monotonic clock moved apart by more than {limits.CLOCK_STEP_NS / 1e6:.0f} ms during the execution",
)  # fmt: skip
def clock_stepped(f: Findings) -> Iterable[Found]:
    """Latencies are of the monotonic clock; but seconds are labelled with the UNIX one, by a pair read at the start."""
    for execution in f.executions:
        known = f.environment.cell(execution.cell).executions.get(str(execution.repeat))
        if known is None or known.clock is None or known.clock_end is None:
            continue
        step_ns = known.clock_end.unix_minus_mono_ns - known.clock.unix_minus_mono_ns
        if abs(step_ns) > limits.CLOCK_STEP_NS:
            text = f"the host's clock was stepped by {step_ns / 1e9:+.1f} s during the execution"
            yield Found(execution, text, step_ns / 1e9, limits.CLOCK_STEP_NS / 1e9)


@check(
    "disturbed", weight="note", cause="machine", affects=(),
    rule="runs of 0.1.0 with `retries`: an attempt was left out and run again because the machine disturbed it",
)  # fmt: skip
def disturbed(f: Findings) -> Iterable[Found]:
    for execution in f.executions:
        for attempt, text in enumerate(f.state.of(execution).disturbed, 1):
            yield Found(execution, f"attempt {attempt} was left out and run again: {text}")


def processors_around(f: Findings, execution: ExecutionId, second_unix_s: int) -> str:
    """What else used the processors in that second and beside it, in words; empty without readings.

    A reading tells of the second before it, and is not taken on the second: the neighbours count too.
    """
    around = [r for r in _taken(f) if ExecutionId.of(r) == execution and abs(r["second_unix_s"] - second_unix_s) <= 1]
    if not around:
        return ""
    most = {m: max((r["value"] for r in around if r["metric"] == m), default=0.0) for m in TAKEN}
    loud = [f"{cores:.2f} cores were {TAKEN[m]}" for m, cores in most.items() if cores > limits.LOUD_SECOND_CORES[m]]
    return " and ".join(loud) or f"other programs used no more than {max(0.0, *most.values()):.2f} cores"
