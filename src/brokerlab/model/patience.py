"""How long is waited for what takes longer the more partitions there are."""

from __future__ import annotations

# Clusters of three nodes make and open a partition in 5 to 10 ms on two idle processors; busy ones take several times that.
S_PER_PARTITION = 0.03


def patience_s(least_s: float, partitions: int) -> float:
    """`least_s`, and more for every partition: 60 s become 63 s with 100 partitions and six minutes with 10,000."""
    return least_s + S_PER_PARTITION * partitions
