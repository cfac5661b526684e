"""Questions to a running stack: what Graphite and Prometheus answer, as numbers with times in UNIX seconds.

Graphite is always asked for JSON: its CSV has local times without an offset, in whatever zone the server or the question
says.
"""

from __future__ import annotations

import json
import math
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass
from typing import Any

Point = tuple[float, float]  # UNIX seconds, value


@dataclass(frozen=True)
class Series:
    """One line of an answer: what it is called, its labels where it has some, and its points; gaps are left out."""

    name: str
    labels: dict[str, str]
    points: tuple[Point, ...]


def graphite(url: str, target: str, *, begin: str = "-2min", until: str = "now", seconds: float = 30.0) -> list[Series]:
    """Every series that the expression gives. Raises OSError."""
    query = {"target": target, "from": begin, "until": until, "format": "json", "noCache": "true"}
    answer = _json(f"{url}/render?{urllib.parse.urlencode(query)}", seconds)
    return [
        Series(one["target"], {}, tuple((float(t), float(v)) for v, t in one["datapoints"] if v is not None))
        for one in answer
    ]


def prometheus(url: str, expression: str, *, at_unix_s: float | None = None, seconds: float = 30.0) -> list[Series]:
    """The instant vector, or the range, that the expression gives. Raises OSError."""
    query = {"query": expression} | ({} if at_unix_s is None else {"time": str(at_unix_s)})
    answer = _json(f"{url}/api/v1/query?{urllib.parse.urlencode(query)}", seconds)
    return [_of_prometheus(one) for one in answer["data"]["result"]]


def prometheus_range(
    url: str, expression: str, begin_unix_s: float, end_unix_s: float, step_s: float = 1.0, seconds: float = 30.0
) -> list[Series]:
    """The expression at every step. Raises OSError."""
    query = {"query": expression, "start": begin_unix_s, "end": end_unix_s, "step": step_s}
    answer = _json(f"{url}/api/v1/query_range?{urllib.parse.urlencode(query)}", seconds)
    return [_of_prometheus(one) for one in answer["data"]["result"]]


def _of_prometheus(one: dict[str, Any]) -> Series:
    labels = dict(one["metric"])
    values = one["values"] if "values" in one else [one["value"]]
    points = ((float(t), float(v)) for t, v in values)
    return Series(labels.pop("__name__", ""), labels, tuple((t, v) for t, v in points if not math.isnan(v)))


def _json(url: str, seconds: float) -> Any:
    try:
        with urllib.request.urlopen(url, timeout=seconds) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as e:
        raise OSError(f"{url.partition('?')[0]} answered {e.code}: {e.read(300).decode(errors='replace')}") from None
    except ValueError as e:
        raise OSError(f"{url.partition('?')[0]} does not answer JSON: {e}") from None
