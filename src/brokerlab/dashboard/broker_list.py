"""The brokers as their page shows them: what each is, what of it is here, and whether it is up."""

from __future__ import annotations

from typing import Any

from brokerlab import background, lab
from brokerlab.brokers.registry import broker_named

ACTIONS = ("install", "up", "down")


def broker_rows() -> list[dict[str, Any]]:
    up = {status["broker"]: status for status in background.statuses()}
    rows = []
    for front, here in lab.brokers():
        can = front.capabilities
        status = up.get(front.name)
        rows.append(
            {
                "name": front.name,
                "product": front.product,
                "version": here.version or front.version,
                "kind": front.kind,
                "nodes": list(can.nodes),
                "levels": sorted({str(level) for levels in can.durability_levels.values() for level in levels}),
                "installed": here.installed,
                "runs_here": here.runs_here,
                "reason": here.reason,
                "up": None if status is None else {"addresses": status["endpoint"], "durability": status.get("durability"), "state": status.get("state")},
            }
        )  # fmt: skip
    return rows


def arguments(broker: str, action: str) -> list[str]:
    """Of the command; NotFoundError with the nearest name for a broker there is not."""
    broker_named(broker)
    return [action, broker] if action == "down" else [action, broker, "--quiet"]
