"""Sets of integers kept as sorted, disjoint, inclusive ranges: cheap while numbers come and go in order."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator


class RangeSet:
    """A set of integers. `len` counts integers, iteration yields (first, last)."""

    def __init__(self) -> None:
        self._firsts: list[int] = []
        self._lasts: list[int] = []
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return iter(list(zip(self._firsts, self._lasts, strict=True)))

    def add(self, first: int, last: int) -> None:
        """Add first..last, of which none may be in the set yet."""
        firsts, lasts = self._firsts, self._lasts
        self._size += last - first + 1
        at = bisect_left(firsts, first)
        joins_left = at > 0 and lasts[at - 1] == first - 1
        joins_right = at < len(firsts) and firsts[at] == last + 1
        if joins_left and joins_right:
            lasts[at - 1] = lasts[at]
            del firsts[at], lasts[at]
        elif joins_left:
            lasts[at - 1] = last
        elif joins_right:
            firsts[at] = first
        else:
            firsts.insert(at, first)
            lasts.insert(at, last)

    def remove(self, first: int, last: int) -> int:
        """Take first..last out, as far as it is in the set; how many were."""
        firsts, lasts = self._firsts, self._lasts
        low = bisect_left(lasts, first)
        high = bisect_right(firsts, last)
        if low >= high:
            return 0
        removed = 0
        kept: list[tuple[int, int]] = []
        for a, b in zip(firsts[low:high], lasts[low:high], strict=True):
            removed += min(b, last) - max(a, first) + 1
            if a < first:
                kept.append((a, first - 1))
            if b > last:
                kept.append((last + 1, b))
        firsts[low:high] = [a for a, _ in kept]
        lasts[low:high] = [b for _, b in kept]
        self._size -= removed
        return removed

    def take(self, most: int) -> tuple[int, int]:
        """Remove the beginning of the lowest range, `most` integers at most: (first, how many). Not on an empty set."""
        first = self._firsts[0]
        count = min(most, self._lasts[0] - first + 1)
        self.remove(first, first + count - 1)
        return first, count
