"""Settings of a cell that this server understands."""

from __future__ import annotations

from collections.abc import Mapping

from brokerlab.brokers.contract import CellProblem, ComputedDurability
from brokerlab.brokers.kit.setting_checks import is_above_zero, unknown_names, wrong_value
from brokerlab.model.plan import CellPlan, Durability

DEFAULTS = {"retain_mib": "512", "limit_mib": "2048"}
_FIELD = "broker_settings"


def problems(cell: CellPlan) -> list[CellProblem]:
    return [
        *unknown_names(_FIELD, cell.broker_settings, DEFAULTS),
        *unknown_names("client_settings", cell.client_settings, ()),
        *size_problems(cell.broker_settings),
    ]


def planned_durability(cell: CellPlan) -> ComputedDurability:  # noqa: ARG001 - there is no other
    return ComputedDurability(Durability.L4, {"storage": "memory", "replicas": "1", "fsync": "never"})


def size_problems(settings: Mapping[str, str]) -> list[CellProblem]:
    """Sizes must be whole numbers of MiB, and the limit not below what is retained."""
    found = [
        wrong_value(_FIELD, settings, name, "must be a whole number of MiB above 0")
        for name in DEFAULTS
        if name in settings and not is_above_zero(settings[name])
    ]
    merged = DEFAULTS | {k: v for k, v in settings.items() if k in DEFAULTS}
    if not found and int(merged["limit_mib"]) < int(merged["retain_mib"]):
        found.append(CellProblem((_FIELD, "limit_mib"), "must not be below retain_mib"))
    return found


def size_arguments(settings: Mapping[str, str]) -> list[str]:
    """The server's command-line arguments for these settings; others are not its own."""
    merged = DEFAULTS | {k: v for k, v in settings.items() if k in DEFAULTS}
    retain, limit = (int(merged[name]) << 20 for name in DEFAULTS)
    return ["--retain-bytes", str(retain), "--limit-bytes", str(limit)]
