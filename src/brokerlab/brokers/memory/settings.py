"""Settings of a cell that this server understands."""

from __future__ import annotations

from collections.abc import Mapping

from brokerlab.brokers.kit.setting_checks import is_above_zero

DEFAULTS = {"retain_mib": "512", "limit_mib": "2048"}


def size_problems(settings: Mapping[str, str]) -> list[str]:
    """Sizes must be whole numbers of MiB, and the limit not below what is retained."""
    problems = [
        f"broker_settings.{name}: must be a whole number of MiB above 0 (got {settings[name]!r})"
        for name in DEFAULTS
        if name in settings and not is_above_zero(settings[name])
    ]
    merged = DEFAULTS | {k: v for k, v in settings.items() if k in DEFAULTS}
    if not problems and int(merged["limit_mib"]) < int(merged["retain_mib"]):
        problems.append("broker_settings.limit_mib: must not be below retain_mib")
    return problems


def size_arguments(settings: Mapping[str, str]) -> list[str]:
    """The server's command-line arguments for these settings."""
    merged = DEFAULTS | dict(settings)
    retain, limit = (int(merged[name]) << 20 for name in ("retain_mib", "limit_mib"))
    return ["--retain-bytes", str(retain), "--limit-bytes", str(limit)]
