"""dip: what each planned fault did to the rates, second by second: how deep, how long, and when the rate was back."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from brokerlab.judge.figures import measured_bounds
from brokerlab.model.environment import Environment
from brokerlab.model.execution_id import ExecutionId
from brokerlab.pipeline.faults import BegunFault

Row = Mapping[str, Any]
FEWEST_BEFORE = 3  # seconds that say what the rate was
BACK_SHARE = 0.9  # of the rate before, from which on it is back
BACK_SECONDS = 3  # for so many seconds in a row
SIDES = {"publish": ("producer", "acknowledged"), "delivery": ("consumer", "received")}


@dataclass(frozen=True)
class Around:
    """Whole seconds around a fault: those of the measure phase since the rate was back after the fault before, and up to
    the next fault."""

    begun_unix_s: float
    first: int
    last: int


def dip_rows(
    faults: Sequence[BegunFault], outages: Iterable[Row], rates: list[Row], environment: Environment
) -> list[dict[str, Any]]:
    """Rows of the table of that name: one for each fault and side that has agents. `faults` are in order of time,
    `outages` are rows of `fault`, `rates` is rate_per_second."""
    known = {(r["cell"], r["repeat"], r["number"]): r for r in outages}
    bounds = measured_bounds(rates)
    rows = []
    for execution in dict.fromkeys(ExecutionId(cell=f.cell, repeat=f.repeat) for f in faults):
        if execution not in bounds:
            continue
        mine = [f for f in faults if (f.cell, f.repeat) == (execution.cell, execution.repeat)]
        begun = [_begun_unix_s(f, environment, bounds[execution][0]) for f in mine]
        counts = {side: _counts(rates, execution, *of) for side, of in SIDES.items()}
        first = dict.fromkeys(SIDES, bounds[execution][0])
        for i, fault in enumerate(mine):
            outage = known[fault.cell, fault.repeat, fault.number]
            last = math.floor(begun[i + 1]) - 1 if i + 1 < len(begun) else bounds[execution][1]
            for side in (side for side in SIDES if counts[side]):
                found = dip(counts[side], Around(begun[i], first[side], last))
                first[side] = math.ceil(begun[i] + (found["recovery_s"] or 0.0))
                rows.append(
                    {
                        "cell": fault.cell, "repeat": fault.repeat, "number": fault.number, "fault": fault.fault,
                        "node": fault.node, "side": side, "outage_s": outage[f"{side}_outage_s"],
                        "outage_ended": outage[f"{side}_recovered"],
                        **found,
                    }
                )  # fmt: skip
    return rows


def _begun_unix_s(fault: BegunFault, environment: Environment, first_measured: int) -> float:
    """When the fault hit. Without the clocks of its execution, the measure phase is taken to begin with a whole second."""
    clock = environment.cell(fault.cell).executions.get(str(fault.repeat))
    if clock is None or clock.clock is None:
        return first_measured + (fault.from_mono_ns - fault.measure_from_mono_ns) / 1e9
    return (fault.from_mono_ns + clock.clock.unix_minus_mono_ns) / 1e9


def _counts(rates: list[Row], execution: ExecutionId, role: str, name: str) -> dict[int, int]:
    """Messages by second; nothing where there are no agents of this role. Groups add up."""
    counts: dict[int, int] = defaultdict(int)
    for row in rates:
        if row["role"] == role and ExecutionId.of(row) == execution:
            counts[row["second_unix_s"]] += row[name]
    return dict(counts)


def dip(counts: Mapping[int, int], around: Around) -> dict[str, Any]:
    """Rates before, lowest and during, and when the rate was back; a second without an entry has no messages."""
    struck = math.floor(around.begun_unix_s)
    before = [counts.get(s, 0) for s in range(around.first, struck)]
    after = [counts.get(s, 0) for s in range(struck, around.last + 1)]
    mean = statistics.fmean(before) if before else 0.0
    nothing = dict.fromkeys(("before_per_s", "lowest_per_s", "depth", "during_per_s", "during_share", "recovery_s"))
    if len(before) < FEWEST_BEFORE or mean == 0 or not after:
        few = f"{len(before)} whole seconds before it, {FEWEST_BEFORE} are needed"
        reason = (
            few if len(before) < FEWEST_BEFORE else "nothing went through before it" if after else "no second after it"
        )
        return {**nothing, "silent_s": 0, "recovered": None, "reason": reason}
    low = [n < BACK_SHARE * mean for n in after]
    back = next((i for i in range(len(after) - BACK_SECONDS + 1) if not any(low[i : i + BACK_SECONDS])), None)
    during = after[: len(after) if back is None else max(back, 1)]
    return {
        "before_per_s": mean,
        "lowest_per_s": float(min(after)),
        "depth": 1 - min(after) / mean,
        "during_per_s": statistics.fmean(during),
        "during_share": statistics.fmean(during) / mean,
        "silent_s": sum(n == 0 for n in after),
        "recovery_s": None if back is None else max(0.0, struck + back - around.begun_unix_s),
        "recovered": back is not None,
        "reason": "" if back is not None else "the rate was not back before the end",
    }
