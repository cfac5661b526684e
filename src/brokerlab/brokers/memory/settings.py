"""Settings of a cell that this server understands."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping

DEFAULTS = {"retain_mib": "512", "limit_mib": "2048"}


def unknown_names(given: Iterable[str], known: Iterable[str], what: str) -> list[str]:
    """One line for each name that is not known, with the nearest that is."""
    names = list(known)
    problems = []
    for name in given:
        if name not in names:
            near = difflib.get_close_matches(name, names, n=1)
            said = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(names) or 'none'}"
            problems.append(f"{what}.{name}: no such setting; {said}")
    return problems


def size_problems(settings: Mapping[str, str]) -> list[str]:
    """Sizes must be whole numbers of MiB, and the limit not below what is retained."""
    problems = [
        f"broker_settings.{name}: must be a whole number of MiB above 0 (got {settings[name]!r})"
        for name in DEFAULTS
        if name in settings and not (settings[name].isdecimal() and int(settings[name]) > 0)
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
