"""RangeSet against a plain set."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from brokerlab.brokers.memory.ranges import RangeSet

steps = st.lists(st.tuples(st.booleans(), st.integers(0, 60), st.integers(0, 12)), max_size=40)


@given(steps)
def test_a_range_set_holds_what_a_set_would_hold(todo: list[tuple[bool, int, int]]) -> None:
    ranges, model = RangeSet(), set[int]()
    for adds, first, length in todo:
        numbers = set(range(first, first + length + 1))
        if adds:
            if numbers & model:
                continue
            ranges.add(first, first + length)
            model |= numbers
        else:
            assert ranges.remove(first, first + length) == len(numbers & model)
            model -= numbers
        assert len(ranges) == len(model)
        assert {i for a, b in ranges for i in range(a, b + 1)} == model
        edges = [e for pair in ranges for e in pair]
        assert edges == sorted(edges)
        assert all(a > b + 1 for (_, b), (a, _) in zip(list(ranges), list(ranges)[1:], strict=False)), (
            "ranges are joined"
        )


def test_take_gives_the_lowest_numbers_and_removes_them() -> None:
    ranges = RangeSet()
    ranges.add(5, 9)
    ranges.add(20, 20)
    assert ranges.take(3) == (5, 3)
    assert ranges.take(3) == (8, 2)
    assert ranges.take(3) == (20, 1)
    assert len(ranges) == 0
