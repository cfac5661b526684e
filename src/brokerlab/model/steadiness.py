"""Every limit by which a series of seconds is labelled, once. The pipeline compares with them, and docs/measurements.md
prints them."""

from __future__ import annotations

FEWEST_SECONDS = 5
# Change over the whole phase that counts as warming or slowing: relative, and of the logarithm of a p99 (halved or doubled).
TREND_LIMIT = 0.10
TREND_LIMIT_LOG = 0.69
VARIATION_LIMIT = 0.25
VARIATION_LIMIT_LOG = 1.0
COUNTS_SCATTER = 2.0  # / sqrt(mean) is added for counts: they vary by chance alone
SHIFT_LIMIT = 0.05
SHIFT_LIMIT_LOG = 0.2
CUSUM_LIMIT = 1.36  # 95th percentile of the largest excursion of a Brownian bridge (Kolmogorov)
# A trend must also stand out of the noise, by three standard errors of a line through many points. Through few it must
# by more: Student's t of the same chance, whose expansion in 1 / (points - 2) this is. Five points need 8.5.
STANDARD_ERRORS = (3.0, 7.5, 17.25, 30.1875)


def freedom(points: int) -> int:
    """What is left of the points' freedom by a line through them."""
    return max(points - 2, 1)


def standard_errors(points: int) -> float:
    """How many standard errors a trend through so many points must have."""
    return sum(part / float(freedom(points)) ** power for power, part in enumerate(STANDARD_ERRORS))
