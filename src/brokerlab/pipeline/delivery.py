"""delivery and lost_range, from the accounts of all lanes: sums of few rows, made on the driver."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from brokerlab.model.arrow import arrow_schema
from brokerlab.pipeline.executions import ExecutionFacts
from brokerlab.pipeline.lane import COUNTS, MOST_RANGES
from brokerlab.results.tables import DELIVERY, LOST_RANGE, NO_GROUP

Accounts = dict[tuple[str, int], pa.Table]  # rows of packing.LANE_ACCOUNT by (cell, repeat)
Lane = tuple[int, int]


def delivery(accounts: Accounts, strange: Iterable[dict[str, Any]], executions: Sequence[ExecutionFacts]) -> pa.Table:
    """One row per entry of `executions`. `strange` are rows of execution_tables.strange."""
    of_group = {(r["cell"], r["repeat"], r["group"]): r for r in strange}
    rows = []
    for facts in executions:
        counts = _counts(accounts.get((facts.cell, facts.repeat)), facts.group)
        if not facts.whole:
            counts = _with_evidence_missing(counts)
        if facts.group == NO_GROUP:  # without consumers nothing can be called missing
            counts |= {"lost": 0, "unknown_absent": 0}
        others = of_group.get((facts.cell, facts.repeat, facts.group), {"corrupted": 0, "strange": 0})
        rows.append(
            {
                "cell": facts.cell, "repeat": facts.repeat, "group": facts.group, "drained": facts.drained, **counts,
                "corrupted": others["corrupted"], "unexpected": counts["never_sent"] + others["strange"],
            }
        )  # fmt: skip
    return pa.Table.from_pylist(rows, arrow_schema(DELIVERY.computed()))


def _counts(accounts: pa.Table | None, group: str) -> dict[str, int]:
    if accounts is None:
        return dict.fromkeys(COUNTS, 0)
    mine = accounts.filter(
        pc.or_(pc.is_null(accounts["group"]), pc.fill_null(pc.equal(accounts["group"], group), False))
    )
    return {name: pc.sum(mine[name]).as_py() or 0 for name in COUNTS}


def _with_evidence_missing(counts: dict[str, int]) -> dict[str, int]:
    """What arrived must have been sent: where nothing says so, it is unknown instead of never sent."""
    numbers, deliveries = counts["numbers_never_sent"], counts["never_sent"]
    more = {"sent": numbers, "unknown": numbers, "delivered": numbers, "recovered": numbers,
            "duplicated": deliveries - numbers, "never_sent": -deliveries}  # fmt: skip
    return {name: n + more.get(name, 0) for name, n in counts.items()}


def lost_range(accounts: Accounts, executions: Sequence[ExecutionFacts]) -> pa.Table:
    """Acknowledged and never received: the first MOST_RANGES ranges of each repeat and group."""
    rows = []
    for facts in executions:
        if facts.group == NO_GROUP or (facts.cell, facts.repeat) not in accounts:
            continue
        where = {"cell": facts.cell, "repeat": facts.repeat, "group": facts.group}
        lanes = _lost(accounts[facts.cell, facts.repeat], facts.group)
        ranges = ((lane, *found) for lane in sorted(lanes) for found in _joined(lanes[lane]))
        for (producer, partition), first, last in islice(ranges, MOST_RANGES):
            rows.append({**where, "producer": producer, "partition": partition, "first": first, "last": last})
    return pa.Table.from_pylist(rows, arrow_schema(LOST_RANGE.computed()))


def _lost(accounts: pa.Table, group: str) -> dict[Lane, list[tuple[int, int]]]:
    """Lost ranges by lane. Where the group received nothing of a block, all that was acknowledged of it is lost."""
    names = ("group", "producer", "partition", "block", "lost_first", "lost_last")
    own: dict[tuple[int, int, int], list[tuple[int, int]]] = {}
    without: dict[tuple[int, int, int], list[tuple[int, int]]] = {}
    for of, producer, partition, block, first, last in zip(*(accounts[n].to_pylist() for n in names), strict=True):
        if of is None or of == group:
            chosen = without if of is None else own
            chosen[producer, partition, block] = list(zip(first, last, strict=True))
    found: dict[Lane, list[tuple[int, int]]] = defaultdict(list)
    for (producer, partition, _), ranges in (without | own).items():
        found[producer, partition] += ranges
    return found


def _joined(ranges: list[tuple[int, int]]) -> Iterable[tuple[int, int]]:
    """The ranges of a lane in order; neighbours, which are of different blocks, as one."""
    open_range: tuple[int, int] | None = None
    for first, last in sorted(ranges):
        if open_range is not None and open_range[1] + 1 == first:
            open_range = (open_range[0], last)
            continue
        if open_range is not None:
            yield open_range
        open_range = (first, last)
    if open_range is not None:
        yield open_range
