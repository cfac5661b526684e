"""The order of executions: every cell in every repeat, and time and neighbours shared fairly."""

from __future__ import annotations

from collections import Counter
from itertools import groupby, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brokerlab.workload.order import interleaved, interleaved_in_groups

COUNTS = st.integers(1, 14)


def cells(count: int) -> list[str]:
    return [f"c{i:02d}" for i in range(1, count + 1)]


def rounds(count: int, repeats: int) -> list[list[str]]:
    order = interleaved(cells(count), repeats)
    assert [e.repeat for e in order] == [r for r in range(1, repeats + 1) for _ in range(count)]
    return [[e.cell for e in order if e.repeat == r] for r in range(1, repeats + 1)]


def whole_design(count: int) -> int:
    return count if count % 2 == 0 else 2 * count


def spread(counts: Counter[tuple[str, object]], possible: int) -> int:
    return max(counts.values()) - (min(counts.values()) if len(counts) == possible else 0)


@settings(deadline=None)
@given(COUNTS, st.integers(1, 12))
def test_every_repeat_has_every_cell_once_and_the_first_is_as_planned(count: int, repeats: int) -> None:
    found = rounds(count, repeats)
    assert found[0] == cells(count)
    assert all(sorted(one) == cells(count) for one in found)
    assert found == rounds(count, repeats)


@settings(deadline=None)
@given(COUNTS, st.integers(1, 3))
def test_whole_designs_give_each_cell_each_place_and_each_neighbour_equally_often(count: int, times: int) -> None:
    found = rounds(count, times * whole_design(count))
    places = Counter((cell, place) for one in found for place, cell in enumerate(one))
    assert spread(places, count * count) == 0
    after = Counter(pair for one in found for pair in pairwise(one))
    assert count == 1 or spread(after, count * (count - 1)) == 0


@settings(deadline=None)
@given(st.integers(1, 7).map(lambda half: 2 * half), st.integers(1, 20))
def test_an_even_number_of_cells_is_balanced_after_any_number_of_repeats(count: int, repeats: int) -> None:
    found = rounds(count, repeats)
    assert spread(Counter((cell, place) for one in found for place, cell in enumerate(one)), count * count) <= 1
    assert spread(Counter(pair for one in found for pair in pairwise(one)), count * (count - 1)) <= 1


@pytest.mark.parametrize("count", range(3, 15))
def test_no_cell_ends_one_repeat_and_begins_the_next(count: int) -> None:
    found = rounds(count, 2 * whole_design(count) + 3)
    assert not [(one, after) for one, after in pairwise(found) if one[-1] == after[0]]


def test_two_cells_meet_themselves_only_where_places_must_change() -> None:
    assert ["".join(one) for one in rounds(2, 6)] == ["c01c02", "c02c01", "c02c01", "c01c02", "c01c02", "c02c01"]


@pytest.mark.parametrize("count", range(2, 15))
@pytest.mark.parametrize("repeats", [4, 8])
def test_with_the_usual_repeats_no_cell_runs_much_earlier_than_another(count: int, repeats: int) -> None:
    """Mean places of cells differ by at most a fifth of a repeat's length; in a fixed order it would be all of it."""
    found = rounds(count, repeats)
    means = [sum(one.index(cell) for one in found) / repeats for cell in cells(count)]
    assert max(means) - min(means) <= 0.2 * count


GROUPS = st.lists(st.integers(1, 5), min_size=1, max_size=5)


def in_groups(sizes: list[int], repeats: int) -> tuple[list[list[str]], list[list[str]]]:
    """(groups of cells, cells of each repeat)."""
    names = iter(cells(sum(sizes)))
    groups = [[next(names) for _ in range(size)] for size in sizes]
    order = interleaved_in_groups(groups, repeats)
    return groups, [[e.cell for e in order if e.repeat == r] for r in range(1, repeats + 1)]


@settings(deadline=None)
@given(GROUPS, st.integers(1, 9))
def test_groups_stay_together_and_a_repeat_begins_with_the_group_that_ended_the_last(
    sizes: list[int], repeats: int
) -> None:
    groups, found = in_groups(sizes, repeats)
    assert found[0] == cells(sum(sizes))
    of = {cell: number for number, group in enumerate(groups) for cell in group}
    for number, one in enumerate(found):
        assert sorted(one) == cells(sum(sizes))
        visited = [group for group, _ in groupby(of[cell] for cell in one)]
        assert visited == (list(range(len(groups))) if number % 2 == 0 else list(range(len(groups)))[::-1])


@given(st.integers(1, 8), st.integers(1, 6))
def test_one_group_is_ordered_as_if_there_were_none(count: int, repeats: int) -> None:
    assert interleaved_in_groups([cells(count)], repeats) == interleaved(cells(count), repeats)
