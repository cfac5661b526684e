"""Quantities as people write them (`20_000/s`, `1KiB`, `30s`) and as reports show them (`20,000/s`, `1 KiB`, `12.3 ms`).

Written: a number (underscores allowed) directly followed by its unit; one space between is allowed. Sizes know both
the binary (KiB) and the decimal (kB) units; a plain integer is bytes. Rates and durations always carry their unit.
"""

from __future__ import annotations

import re

NUMBER_PATTERN = r"(?:[0-9][0-9_]*)(?:\.[0-9]+)?"
RATE_UNITS = {"": 1, "k": 1_000, "M": 1_000_000}
BYTES_UNITS = {
    "B": 1,
    "kB": 1_000,
    "KB": 1_000,
    "MB": 1_000_000,
    "GB": 1_000_000_000,
    "KiB": 1 << 10,
    "MiB": 1 << 20,
    "GiB": 1 << 30,
}
DURATION_UNITS = {"ns": 1, "us": 1_000, "µs": 1_000, "ms": 1_000_000, "s": 10**9, "min": 60 * 10**9, "h": 3600 * 10**9}

RATE_PATTERN = rf"^{NUMBER_PATTERN} ?[kM]?/s$"
BYTES_PATTERN = rf"^{NUMBER_PATTERN} ?(?:{'|'.join(BYTES_UNITS)})$"
SHARE_PATTERN = rf"^{NUMBER_PATTERN} ?%$"
BYTES_PER_S_PATTERN = rf"^{NUMBER_PATTERN} ?(?:{'|'.join(BYTES_UNITS)})/s$"
DURATION_PATTERN = rf"^{NUMBER_PATTERN} ?(?:{'|'.join(DURATION_UNITS)})$"

_SPLIT = re.compile(rf"({NUMBER_PATTERN}) ?(\S*)")


def parse_number(text: object) -> float:
    """A plain number, underscores allowed. Raises ValueError."""
    if isinstance(text, bool):
        raise ValueError("must be a number")
    if isinstance(text, int | float):
        return float(text)
    number, unit = _split(text, "a number such as 20_000")
    if unit:
        raise ValueError("must be a plain number without a unit")
    return number


def parse_rate_per_s(text: object) -> float:
    """Messages a second: `20_000/s`, `1.5k/s`, `2M/s`. Raises ValueError."""
    example = "a rate such as 20_000/s, 20k/s or 1M/s"
    if not isinstance(text, str):
        raise ValueError(f"must be {example}: the unit is missing")
    number, unit = _split(text, example)
    if not unit.endswith("/s") or unit[:-2] not in RATE_UNITS:
        raise ValueError(f"must be {example}")
    return number * RATE_UNITS[unit[:-2]]


def parse_bytes(text: object) -> int:
    """Bytes: `1KiB` (1024), `1KB` or `1kB` (1000), `200B`, or a plain integer. Raises ValueError."""
    example = "a size such as 1KiB (1024 bytes), 1kB (1000), 200B or a plain integer"
    if isinstance(text, int) and not isinstance(text, bool):
        return text
    number, unit = _split(text, example)
    if (unit or "B") not in BYTES_UNITS:
        raise ValueError(f"must be {example}")
    size = number * BYTES_UNITS[unit or "B"]
    if not size.is_integer():
        raise ValueError("must be a whole number of bytes")
    return int(size)


def parse_bytes_per_s(text: object) -> int:
    """Bytes a second: `30MB/s`, `1MiB/s`. Raises ValueError."""
    example = "bytes a second such as 30MB/s or 512KiB/s"
    if not isinstance(text, str) or not text.endswith("/s"):
        raise ValueError(f"must be {example}")
    try:
        return parse_bytes(text.removesuffix("/s").rstrip())
    except ValueError:
        raise ValueError(f"must be {example}") from None


def parse_duration_ns(text: object) -> float:
    """Nanoseconds of a duration with its unit. `0` alone is allowed: it is the same in every unit. Raises ValueError."""
    example = "a duration such as 30s, 500ms, 2min or 1h"
    if not isinstance(text, str):
        if text == 0 and not isinstance(text, bool):
            return 0.0
        raise ValueError(f"must be {example}: the unit is missing")
    number, unit = _split(text, example)
    if number == 0 and not unit:
        return 0.0
    if unit not in DURATION_UNITS:
        raise ValueError(f"must be {example}")
    return number * DURATION_UNITS[unit]


def parse_duration_s(text: object) -> float:
    """Seconds of a duration with its unit."""
    return parse_duration_ns(text) / 1e9


def parse_share(text: object) -> float:
    """A share written in per cent, `2%` as 0.02. Raises ValueError."""
    example = "a percentage such as 2%"
    if not isinstance(text, str):
        raise ValueError(f"must be {example}: the unit is missing")
    number, unit = _split(text, example)
    if unit != "%":
        raise ValueError(f"must be {example}")
    return number / 100


def _split(text: object, example: str) -> tuple[float, str]:
    match = _SPLIT.fullmatch(text.strip()) if isinstance(text, str) else None
    if match is None:
        raise ValueError(f"must be {example}")
    return float(match[1].replace("_", "")), match[2]


def format_count(count: float) -> str:
    """`12,345`."""
    return f"{count:,.0f}"


def format_rate(rate_per_s: float) -> str:
    """`20,000/s`; below 100/s with up to two decimals."""
    return f"{_trimmed(rate_per_s, 2) if abs(rate_per_s) < 100 else format_count(rate_per_s)}/s"


def format_bytes(size: float) -> str:
    """`1 KiB`, `1.5 MiB`, `200 B`: binary units, three significant digits."""
    for unit in ("GiB", "MiB", "KiB"):
        if abs(size) >= BYTES_UNITS[unit]:
            return f"{_significant(size / BYTES_UNITS[unit])} {unit}"
    return f"{_significant(size)} B"


def format_duration_ns(duration_ns: float) -> str:
    """`12.3 ms`, `850 µs`, `2.5 s`, `3 min 20 s`: three significant digits up to two minutes."""
    if abs(duration_ns) >= 120e9:
        minutes, seconds = divmod(round(duration_ns / 1e9), 60)
        hours, minutes = divmod(minutes, 60)
        parts = [(hours, "h"), (minutes, "min"), (seconds, "s")]
        return " ".join(f"{n} {unit}" for n, unit in parts if n)
    for unit in ("s", "ms", "µs"):
        if abs(duration_ns) >= DURATION_UNITS[unit] * 0.9995:
            return f"{_significant(duration_ns / DURATION_UNITS[unit])} {unit}"
    return f"{_significant(duration_ns)} ns"


def format_duration_s(duration_s: float) -> str:
    """The same from seconds."""
    return format_duration_ns(duration_s * 1e9)


def format_value(value: float, unit: str) -> str:
    """A figure of a table with the unit of its column: `12.3 ms` of nanoseconds, `20,000/s`, `1.5 MiB/s`, `0.25 cores`."""
    if unit == "ns":
        return format_duration_ns(value)
    if unit in ("B", "B/s"):
        return format_bytes(value) + unit[1:]
    if unit == "1/s":
        return format_rate(value)
    return _significant(value) if unit == "1" else f"{_significant(value)} {unit}"


def _significant(value: float) -> str:
    """Three significant digits, no exponent, no trailing zeros."""
    size = abs(value)
    decimals = 0 if size >= 99.95 else 1 if size >= 9.995 else 2
    return _trimmed(value, decimals)


def _trimmed(value: float, decimals: int) -> str:
    text = f"{value:,.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
