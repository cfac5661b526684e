"""YAML that is endless, huge or too deep is refused at its line, before anything follows its aliases."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brokerlab.errors import WorkloadError
from brokerlab.workload.composed import ALIASED_VALUES_MOST, LEVELS_MOST, TooMuchError, composed
from brokerlab.workload.tree import Tree, apply_override, read_tree

NINE_LEVELS = "a0: &a0 [x, x]\n" + "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 10))
CHAIN = "a0: &a0 [x]\n" + "".join(f"a{i}: &a{i} [*a{i - 1}]\n" for i in range(1, 100))


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("producers: &p {payload: *p}", 1, "*p stands inside what it means"),
        ("producers:\n  payload: &p\n  - [1, *p]\n", 3, "*p stands inside what it means"),
        ("? &a [*a]\n: 3\n", 1, "*a stands inside what it means"),
        (NINE_LEVELS, 5, f"more than {ALIASED_VALUES_MOST:,} values"),
        (CHAIN, LEVELS_MOST, f"at most {LEVELS_MOST} levels deep"),
        ("name: x\na: " + "[" * 5_000 + "]" * 5_000, 2, f"at most {LEVELS_MOST} levels deep"),
        ("".join(" " * i + "a:\n" for i in range(500)), LEVELS_MOST + 1, f"at most {LEVELS_MOST} levels deep"),
        ("name: *nothing\n", 1, "undefined alias"),
    ],
)
def test_what_no_workload_needs_is_refused_with_its_line(text, line, message):
    with pytest.raises(WorkloadError) as caught:
        read_tree(text, "given.yaml")
    (problem,) = caught.value.problems
    assert (problem.file, problem.line) == ("given.yaml", line)
    assert message in problem.message


def test_a_flag_is_refused_alike():
    problem = apply_override(Tree({}), "producers=&p {payload: *p}")
    assert problem is not None
    assert problem.file == "--set producers=&p {payload: *p}"
    assert "*p stands inside what it means" in problem.message


def test_an_alias_to_something_small_is_followed():
    tree = read_tree("a: &load {rate: 5}\nb: *load\nc: [*load, *load]\n", "given.yaml")
    assert tree.root == {"a": {"rate": 5}, "b": {"rate": 5}, "c": [{"rate": 5}, {"rate": 5}]}


@given(levels=st.integers(1, 2 * LEVELS_MOST), inner=st.sampled_from(["[{}]", "{{a: {}}}"]))
@settings(deadline=None)
def test_the_limit_of_levels_is_exact(levels, inner):
    text = "x"
    for _ in range(levels):
        text = inner.format(text)
    if levels > LEVELS_MOST:
        with pytest.raises(TooMuchError):
            composed(text)
    else:
        assert composed(text) is not None
