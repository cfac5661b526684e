"""Settings of a cell that this server understands."""

from __future__ import annotations

from collections.abc import Mapping

from brokerlab.brokers.contract import CellProblem, ComputedDurability
from brokerlab.brokers.kit.setting_checks import setting_problems, whole_number
from brokerlab.model.plan import CellPlan, Durability

DEFAULTS = {"retain_mib": "512", "limit_mib": "2048"}
SIZES = dict.fromkeys(DEFAULTS, whole_number(unit=" of MiB"))


def problems(cell: CellPlan) -> list[CellProblem]:
    return setting_problems(cell, SIZES, {}) or limit_problems(cell.broker_settings)


def planned_durability(cell: CellPlan) -> ComputedDurability:  # noqa: ARG001 - there is no other
    return ComputedDurability(Durability.L4, {"storage": "memory", "replicas": "1", "fsync": "never"})


def limit_problems(settings: Mapping[str, str]) -> list[CellProblem]:
    """The limit must not be below what is retained."""
    retain, limit = _sizes_mib(settings)
    return [CellProblem(("broker_settings", "limit_mib"), "must not be below retain_mib")] if limit < retain else []


def size_arguments(settings: Mapping[str, str]) -> list[str]:
    """The server's command-line arguments for these settings; others are not its own."""
    retain, limit = _sizes_mib(settings)
    return ["--retain-bytes", str(retain << 20), "--limit-bytes", str(limit << 20)]


def _sizes_mib(settings: Mapping[str, str]) -> tuple[int, int]:
    merged = DEFAULTS | dict(settings)
    return int(merged["retain_mib"]), int(merged["limit_mib"])
