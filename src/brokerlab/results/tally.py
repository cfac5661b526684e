"""Did every message of one execution arrive exactly once? Asked as soon as it has ended, from its evidence on disk; what
exactly went wrong is the analysis's to tell."""

from __future__ import annotations

from collections import defaultdict

from brokerlab.evidence.segments import rows
from brokerlab.evidence.tables import ACTIVITY, OUTCOME, SEQUENCE
from brokerlab.model.execution_id import ExecutionId
from brokerlab.results.directory import RunDirectory

Lane = tuple[int, int]  # producer, partition


def nothing_amiss(directory: RunDirectory, execution: ExecutionId) -> bool:
    """Whether every message that was sent was acknowledged and, by each group, received once and in the order of its
    lane; and nothing else came. Raises OSError where evidence cannot be read."""
    evidence = directory.evidence(execution)
    messages: dict[str, dict[Lane, int]] = defaultdict(lambda: defaultdict(int))
    for r in rows(evidence, OUTCOME):
        messages[r["outcome"]][r["producer"], r["partition"]] += r["last"] - r["first"] + 1
    if set(messages) - {"sent", "acknowledged"} or messages["sent"] != messages["acknowledged"]:
        return False
    groups: set[str] = set()
    for r in rows(evidence, ACTIVITY):
        if r["corrupted"] or r["unexpected"]:
            return False
        if r["role"] == "consumer":
            groups.add(r["group"])
    received: dict[str, dict[Lane, list[tuple[int, int]]]] = defaultdict(lambda: defaultdict(list))
    latest: dict[tuple[object, ...], int] = {}
    for r in sorted(rows(evidence, SEQUENCE), key=lambda r: (r["agent"], r["ordinal"])):
        lane = (r["producer"], r["partition"])
        within = (r["group"], r["consumer"], r["epoch"], lane)
        if r["first"] < latest.get(within, 0):
            return False
        latest[within] = r["last"]
        received[r["group"]][lane].append((r["first"], r["last"]))
    return all(
        received[group].keys() == messages["sent"].keys()
        and all(_is_whole(sorted(received[group][lane]), n) for lane, n in messages["sent"].items())
        for group in groups
    )


def _is_whole(runs: list[tuple[int, int]], messages: int) -> bool:
    """Whether runs of numbers, in order, are 0, 1, 2, ... without gap or overlap."""
    after = 0
    for first, last in runs:
        if first != after:
            return False
        after = last + 1
    return after == messages
