"""catch_up: how fast a backlog was received. From the exact times of arrival where everything was sent before, so a tenth
of a second is long enough; where producers go on, from the counts of each second."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from brokerlab.model.environment import Environment
from brokerlab.model.events import BacklogComplete, ConsumersStarted, event_of
from brokerlab.model.execution_id import ExecutionId

Row = Mapping[str, Any]

BEHIND_S = 0.1  # caught up: behind by no more than what is sent in so long
AT_ONCE = "everything arrived at one instant"
TOO_SHORT = "it caught up within a second"


class Start(NamedTuple):
    """When a set of consumers started, and whether producers had sent everything by then."""

    at_mono_ns: int
    all_sent: bool


Starts = dict[ExecutionId, dict[str, Start]]  # execution -> set of consumers


def backlogs(events: Iterable[Row]) -> Starts:
    """Executions with consumers that start later than the first send, and when each set of them did."""
    found: Starts = defaultdict(dict)
    for row in events:
        event, execution = event_of(row), ExecutionId.of(row)
        if isinstance(event, ConsumersStarted):
            found[execution][event.consumer_set] = Start(row["at_mono_ns"], event.all_sent)
        elif isinstance(event, BacklogComplete):  # all that older runs tell
            found[execution].setdefault("", Start(row["at_mono_ns"], True))
    return dict(found)


def clocks(environment: Environment) -> dict[ExecutionId, int]:
    """UNIX minus monotonic time of each execution, where it is known."""
    return {
        ExecutionId(cell=cell, repeat=int(repeat)): known.clock.unix_minus_mono_ns
        for cell, facts in environment.cells.items()
        for repeat, known in facts.executions.items()
        if known.clock is not None
    }


def set_of(group: str) -> str:
    """The set of consumers that a group's name tells; empty where its cell has one set."""
    return group.rpartition("-")[2].rpartition("_g")[0]


def catch_up_rows(
    found: Iterable[Row], backlogs: Starts, rates: list[Row], clocks: Mapping[ExecutionId, int] | None = None
) -> list[dict[str, Any]]:
    """Rows of the table of that name. `found` are rows of scan.ARRIVALS, `rates` is rate_per_second."""
    rows = []
    wanted = [r for r in found if set_of(r["group"]) in backlogs.get(ExecutionId.of(r), {})]
    for row in sorted(wanted, key=lambda r: (r["cell"], r["repeat"], r["group"])):
        execution, of_set = ExecutionId.of(row), set_of(row["group"])
        mine = [r for r in rates if ExecutionId.of(r) == execution]
        start = backlogs[execution][of_set]
        course = _course(mine, row, start, (clocks or {}).get(execution))
        per_s = course.per_s()
        message_bytes = _message_bytes(mine, row["group"])
        rows.append(
            {
                **{name: row[name] for name in ("cell", "repeat", "group")},
                "consumer_set": of_set,
                "backlog": course.backlog,
                "while_sending": course.while_sending,
                "received": course.received,
                "waited_s": (row["first_mono_ns"] - start.at_mono_ns) / 1e9,
                "took_s": course.took_s,
                "received_per_s": per_s,
                "received_bytes_per_s": None if per_s is None or message_bytes is None else per_s * message_bytes,
                "reason": course.why_no_rate(),
            }
        )
    return rows


@dataclass(frozen=True)
class _Course:
    """How a group came to the end of its backlog."""

    backlog: int | None  # messages sent when it started; None where the clock is not known
    received: int
    took_s: float
    while_sending: bool = False
    too_short: bool = False

    def per_s(self) -> float | None:
        if self.why_no_rate():
            return None
        return (self.received if self.while_sending else self.received - 1) / self.took_s

    def why_no_rate(self) -> str:
        return TOO_SHORT if self.too_short else AT_ONCE if self.took_s <= 0 else ""


def _course(rates: list[Row], row: Row, start: Start, unix_minus_mono_ns: int | None) -> _Course:
    """Until it had caught up with producers that went on; otherwise until its last message."""
    backlog = sum(r["sent"] for r in rates if r["role"] == "producer") if start.all_sent else None
    whole = _Course(backlog, row["received"], (row["last_mono_ns"] - row["first_mono_ns"]) / 1e9)
    if start.all_sent or unix_minus_mono_ns is None:
        return whole
    started_s, first_s = ((ns + unix_minus_mono_ns) / 1e9 for ns in (start.at_mono_ns, row["first_mono_ns"]))
    sent, received = _by_second(rates, "producer", "", "sent"), _by_second(rates, "consumer", row["group"], "received")
    backlog = round(sum(n * min(max(started_s - s, 0), 1) for s, n in sent.items()))
    last = max((s for s, n in sent.items() if n), default=0)
    ahead = sum(n for s, n in sent.items() if s < int(started_s))  # of the group, at the beginning of a second
    got = 0.0
    for second in range(int(started_s), last + 1):
        after = ahead + sent.get(second, 0) - received.get(second, 0)
        near = BEHIND_S * sent.get(second, 0)
        if after <= near:
            # It takes as much as in the second before, of which it may have had a part; and then only what comes.
            per_s = received.get(second - 1, 0) / min(max(second - first_s, 1e-3), 1)
            nearer_per_s = max(per_s - sent.get(second, 0), ahead - after, 1)
            part = min(max(ahead - near, 0) / nearer_per_s, 1.0)
            took_s = second + part - first_s
            got += part * (nearer_per_s + sent.get(second, 0))
            return _Course(backlog, round(got), max(took_s, 0.0), True, second <= int(first_s))
        ahead, got = after, got + received.get(second, 0)
    return _Course(backlog, whole.received, whole.took_s)


def _by_second(rates: list[Row], role: str, group: str, count: str) -> dict[int, int]:
    found: dict[int, int] = defaultdict(int)
    for r in rates:
        if r["role"] == role and r["group"] == group:
            found[r["second_unix_s"]] += r[count]
    return found


def _message_bytes(rates: list[Row], group: str) -> float | None:
    """Mean size of what the group received."""
    mine = [r for r in rates if r["role"] == "consumer" and r["group"] == group]
    received = sum(r["received"] for r in mine)
    return sum(r["bytes"] for r in mine) / received if received else None
