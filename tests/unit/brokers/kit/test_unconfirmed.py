"""Open messages of a producer."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from brokerlab.brokers.kit.settling import Settling
from brokerlab.brokers.kit.unconfirmed import Unconfirmed
from brokerlab.model.blocks import ACKNOWLEDGED, UNKNOWN

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(1, 3000)),
        st.tuples(st.just("some"), st.lists(st.integers(-5, 12_000), max_size=20)),
        st.tuples(st.just("up_to"), st.integers(-5, 12_000)),
    ),
    max_size=30,
)


@given(STEPS, st.sampled_from([0, 1]))
def test_each_message_is_confirmed_at_most_once_in_any_order(steps: list, first_tag: int) -> None:  # type: ignore[type-arg]
    unconfirmed = Unconfirmed(first_tag)
    model: dict[int, int] = {}  # open tag -> message number
    tag, index = first_tag, 1000
    for what, value in steps:
        if what == "add":
            unconfirmed.add(index, value)
            model |= {tag + i: index + i for i in range(value)}
            tag, index = tag + value, index + value + 10
            continue
        if what == "some":
            found = unconfirmed.confirm(np.array(value, np.int64))
            wanted = {model.pop(t) for t in set(value) if t in model}
        else:
            found = unconfirmed.confirm_up_to(value)
            wanted = {model.pop(t) for t in sorted(model) if t <= value}
        assert len(found) == len(wanted)
        assert set(found.tolist()) == wanted
    assert len(unconfirmed) == len(model)
    assert set(unconfirmed.confirm_all().tolist()) == set(model.values())
    assert len(unconfirmed) == 0


def test_outcomes_are_reported_once_with_their_errors_counted() -> None:
    settling = Settling()
    settling.add(np.array([1, 2]), ACKNOWLEDGED)
    settling.add(np.array([5]), UNKNOWN, "connection lost")
    settled = settling.take()
    assert settled.indices.tolist() == [1, 2, 5]
    assert settled.outcomes.tolist() == [ACKNOWLEDGED, ACKNOWLEDGED, UNKNOWN]
    assert settled.errors == {"connection lost": 1}
    assert len(settling.take()) == 0
