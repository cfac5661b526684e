"""Types of single fields of a workload: quantities with units and counts, each with its limit and its JSON Schema."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from brokerlab.model.quantities import (
    BYTES_PATTERN,
    BYTES_PER_S_PATTERN,
    DURATION_PATTERN,
    RATE_PATTERN,
    SHARE_PATTERN,
    format_bytes,
    format_duration_s,
    format_rate,
    parse_bytes,
    parse_bytes_per_s,
    parse_duration_s,
    parse_rate_per_s,
    parse_share,
)

RATE_MOST_PER_S = 1e9
DURATION_MOST_S = 30 * 86_400.0
MESSAGE_BYTES_MOST = 256 << 20
COUNT_MOST = 10_000_000


def _at_most(limit: float, text: Callable[[float], str]) -> AfterValidator:
    """A limit that is named with its unit."""

    def check(value: float) -> float:
        if value > limit:
            raise ValueError(f"must be at most {text(limit)}")
        return value

    return AfterValidator(check)


Rate = Annotated[
    float,
    BeforeValidator(parse_rate_per_s),
    _at_most(RATE_MOST_PER_S, format_rate),
    WithJsonSchema({"type": "string", "pattern": RATE_PATTERN, "examples": ["20_000/s", "20k/s", "1M/s"]}),
]
Seconds = Annotated[
    float,
    BeforeValidator(parse_duration_s),
    _at_most(DURATION_MOST_S, format_duration_s),
    WithJsonSchema(
        {
            "anyOf": [{"type": "string", "pattern": DURATION_PATTERN}, {"const": 0}],
            "examples": ["30s", "500ms", "2min", "1h"],
        }
    ),
]
Size = Annotated[
    int,
    BeforeValidator(parse_bytes),
    _at_most(MESSAGE_BYTES_MOST, format_bytes),
    WithJsonSchema(
        {
            "anyOf": [{"type": "string", "pattern": BYTES_PATTERN}, {"type": "integer", "minimum": 1}],
            "examples": ["1KiB", "200B", 512],
        }
    ),
]
Bytes = Annotated[
    int,
    BeforeValidator(parse_bytes),
    WithJsonSchema(
        {
            "anyOf": [{"type": "string", "pattern": BYTES_PATTERN}, {"type": "integer", "minimum": 1}],
            "examples": ["2GB", "512MiB"],
        }
    ),
]
BytesRate = Annotated[
    int,
    BeforeValidator(parse_bytes_per_s),
    WithJsonSchema({"type": "string", "pattern": BYTES_PER_S_PATTERN, "examples": ["30MB/s", "512KiB/s"]}),
]
Share = Annotated[
    float,
    BeforeValidator(parse_share),
    _at_most(1, lambda share: f"{share:.0%}"),
    WithJsonSchema({"type": "string", "pattern": SHARE_PATTERN, "examples": ["2%", "0.5%"]}),
]
Count = Annotated[int, Field(strict=True, ge=1, le=COUNT_MOST)]
