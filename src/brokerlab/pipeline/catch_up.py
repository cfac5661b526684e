"""catch_up: how fast a backlog was received, from the exact times of arrival; a tenth of a second is long enough."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from brokerlab.model.events import BacklogComplete, event_of
from brokerlab.model.execution_id import ExecutionId

Row = Mapping[str, Any]


def backlogs(events: Iterable[Row]) -> dict[ExecutionId, int]:
    """Executions whose consumers start when all is sent, each with the time at which that was."""
    return {ExecutionId.of(r): r["at_mono_ns"] for r in events if isinstance(event_of(r), BacklogComplete)}


def catch_up_rows(found: Iterable[Row], backlogs: Mapping[ExecutionId, int], rates: list[Row]) -> list[dict[str, Any]]:
    """Rows of the table of that name. `found` are rows of scan.ARRIVALS, `rates` is rate_per_second."""
    rows = []
    wanted = [r for r in found if ExecutionId.of(r) in backlogs]
    for row in sorted(wanted, key=lambda r: (r["cell"], r["repeat"], r["group"])):
        took_s = (row["last_mono_ns"] - row["first_mono_ns"]) / 1e9
        per_s = (row["received"] - 1) / took_s if took_s > 0 else None
        message_bytes = _message_bytes(rates, row)
        rows.append(
            {
                **{name: row[name] for name in ("cell", "repeat", "group", "received")},
                "waited_s": (row["first_mono_ns"] - backlogs[ExecutionId.of(row)]) / 1e9,
                "took_s": took_s,
                "received_per_s": per_s,
                "received_bytes_per_s": None if per_s is None or message_bytes is None else per_s * message_bytes,
                "reason": "" if per_s is not None else "everything arrived at one instant",
            }
        )
    return rows


def _message_bytes(rates: list[Row], of: Row) -> float | None:
    """Mean size of what the group received."""
    key = ("cell", "repeat", "group")
    mine = [r for r in rates if r["role"] == "consumer" and all(r[k] == of[k] for k in key)]
    received = sum(r["received"] for r in mine)
    return sum(r["bytes"] for r in mine) / received if received else None
