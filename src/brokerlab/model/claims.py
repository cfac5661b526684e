"""What a study claims, as values: a measure over cells, the range in which the claim holds, and what it may rely on."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

# What each measure takes: (fewest cells, most cells), and one sentence for docs and messages.
KINDS: dict[str, tuple[int, int | None, str]] = {
    "ratio": (2, 2, "ratio(a, b, metric): a / b, pair by pair of repeats that ran side by side"),
    "level": (1, 1, "level(a, metric): the figure itself"),
    "share": (1, 1, "share(a, metric, of): metric / of, where `of` is another metric or `configured`, the planned rate"),
    "overhead": (1, 1, "overhead(a, metric): bytes a message in `metric`, minus the bytes of the message itself"),
    "during": (1, 1, "during(a, metric, 10s to 20s, 0s to 8s): metric in the first window of measure / in the second"),
    "bucketed": (1, 1, "bucketed(a, metric, 50ms): what a histogram with buckets so wide prints for that quantile of a latency"),
    "spread": (2, None, "spread(a, b, ..., metric): the highest of the cells / the lowest"),
    "flatness": (2, None, "flatness(a, b, ..., metric): the lowest of the cells / the highest; 1 is flat"),
    "peak": (2, None, "peak(a, b, ..., metric): the highest of all cells but the last / the last"),
    "rank": (3, None, "rank(a, b, ..., metric): Kendall's tau of the measured order and the order as written, highest first"),
}  # fmt: skip
Verdict = Literal["reproduced", "contradicted", "cannot tell", "not runnable here"]
VERDICTS: tuple[Verdict, ...] = ("reproduced", "contradicted", "cannot tell", "not runnable here")
# What can be asked to be the same in all cells of a claim: columns of the lake's table `cells`.
SAME = ("driver_path", "durability", "broker", "version", "nodes", "message_bytes")
LIKE_WITH_LIKE = ("driver_path", "durability")  # what every claim asks for that does not say why not


@dataclass(frozen=True)
class Bound:
    """A range of values, as written: `> 1`, `<= 0.5`, `0.95 to 1.05`."""

    text: str
    low: float = -math.inf
    high: float = math.inf
    low_open: bool = True
    high_open: bool = True

    def contains(self, value: float) -> bool:
        above = value > self.low or (value == self.low and not self.low_open)
        return above and (value < self.high or (value == self.high and not self.high_open))

    def place(self, low: float, high: float) -> Literal["inside", "outside", "across"]:
        """Where the interval from `low` to `high` lies."""
        if self.contains(low) and self.contains(high):
            return "inside"
        below = high < self.low or (high == self.low and self.low_open)
        above = low > self.high or (low == self.high and self.high_open)
        return "outside" if below or above else "across"


@dataclass(frozen=True)
class Window:
    """Seconds from the beginning of measure."""

    from_s: float
    to_s: float


@dataclass(frozen=True)
class Part:
    """One measure of a claim with the range in which it holds."""

    text: str
    kind: str  # of KINDS
    cells: tuple[str, ...]
    metric: str
    bound: Bound
    of: str = ""  # share: what the metric is a share of
    windows: tuple[Window, ...] = ()  # during: the window, and the one before
    bucket_ns: int = 0  # bucketed: width of a bucket

    @property
    def figure(self) -> str:
        """The name under which the part's values are kept: the metric, or the metric within windows."""
        if not self.windows:
            return self.metric
        return f"{self.metric} {' / '.join(f'{w.from_s:g} to {w.to_s:g} s' for w in self.windows)}"


@dataclass(frozen=True)
class Claim:
    """A claim of a study. All its parts must hold. `published` has the study's own figure for every part, or none."""

    id: str
    says: str
    measure: str  # as written
    holds: str  # as written
    parts: tuple[Part, ...]
    published: tuple[float, ...] = ()
    published_range: tuple[float, float] | None = None
    published_text: str = ""
    where: str = ""
    same: tuple[str, ...] = LIKE_WITH_LIKE
    unlike: str = ""  # why unlike cells may be compared
    expects: tuple[str, ...] = ()  # codes of reasons that do not stop the claim
    driver_path: str = ""  # what the driver path of all cells must begin with

    @property
    def cells(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(cell for part in self.parts for cell in part.cells))

    @property
    def metrics(self) -> tuple[str, ...]:
        named = (name for part in self.parts for name in (part.figure, part.of) if name)
        return tuple(dict.fromkeys(named))
