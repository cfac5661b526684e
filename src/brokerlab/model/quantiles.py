"""Every quantile once: adding one is adding a line here. Tables, figures, heads of columns and pages follow."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Quantile:
    """`per_second`: shown for single seconds too. `summary`: among the figures of a cell, `headline`: and shown first.
    `judged`: our own lateness must not distort it."""

    key: str  # name of its column
    share: float
    words: str
    per_second: bool = True
    summary: bool = False
    headline: bool = False
    judged: bool = False

    @property
    def fewest_samples(self) -> int:
        """Samples from which a 95 % upper bound of the quantile exists."""
        return fewest_samples(self.share)

    @property
    def meaning(self) -> str:
        return "median" if self.share == 0.5 else f"{self.words.removeprefix('p')}th percentile"


QUANTILES = (
    Quantile("p50_ns", 0.5, "p50", summary=True, headline=True, judged=True),
    Quantile("p90_ns", 0.9, "p90"),
    Quantile("p95_ns", 0.95, "p95", summary=True),
    Quantile("p99_ns", 0.99, "p99", summary=True, headline=True, judged=True),
    Quantile("p999_ns", 0.999, "p99.9", summary=True, headline=True),
    Quantile("p9999_ns", 0.9999, "p99.99", per_second=False),
)
SHARES = {q.key: q.share for q in QUANTILES}
SUMMARY_QUANTILES = tuple(q.key for q in QUANTILES if q.summary)
JUDGED_QUANTILES = tuple(q.key for q in QUANTILES if q.judged)
HEADLINE_QUANTILES = tuple(q for q in QUANTILES if q.headline)


def quantile_words(key: str) -> str:
    """The words of a key: p99 for p99_ns; what is no quantile as it stands."""
    return next((q.words for q in QUANTILES if q.key == key), key)


def fewest_samples(share: float) -> int:
    """ln 0.05 / ln q: 299 for p99, 2,995 for p99.9."""
    return math.ceil(math.log(0.05) / math.log(share)) if 0.0 < share < 1.0 else 1
