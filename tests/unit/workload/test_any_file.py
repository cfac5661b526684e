"""Whatever stands in a file: a plan or a list of problems, never a crash."""

from __future__ import annotations

import copy

import pytest
import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from brokerlab.errors import Problem, WorkloadError
from brokerlab.workload import shipped
from brokerlab.workload.load import plan_workload
from brokerlab.workload.template import commented_workload

BASE = yaml.safe_load(commented_workload())
BASE["sweep"] = {"producers.rate": ["1/s", "2/s"], "broker_settings.kafka.threads": [1, 2]}
BASE["broker_settings"] = {"kafka": {"flush.messages": 1}}


def paths(value, at=()):
    yield at
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield from paths(item, (*at, key))


def problems(source, broker_named, **given_) -> list[Problem]:
    """Of a refused workload, at least one; of a planned one none. Any other exception fails the test."""
    try:
        assert plan_workload(source, broker_named=broker_named, **given_).cells
    except WorkloadError as error:
        return error.problems or pytest.fail("refused without a problem")
    return []


scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 10**20),
    st.floats(),
    st.text(max_size=5),
    st.sampled_from(["1/s", "1KiB", "0/s", "3s", "kafka", "nobody", "random", "lines", "after_backlog", "{x}", "L1"]),
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["rate", "burst", "ramp", "to", "size", "x.y"]), inner, max_size=3),
    ),
    max_leaves=4,
)


@given(changes=st.lists(st.tuples(st.sampled_from([p for p in paths(BASE) if p]), values), min_size=1, max_size=4))
@example(changes=[(("sweep",), {"sweep.producers.rate": ["1/s"]})])
@example(changes=[(("sweep",), {"": [1], "a.b.c": [1], "producers": [1, None], "broker_settings": [3]})])
@example(changes=[(("producers",), {"rate": "1/s", "arrival": {}})])
@settings(deadline=None, max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_changed_file_plans_or_is_refused_with_lines(changes, written, broker_named):
    tree = copy.deepcopy(BASE)
    for path, value in changes:
        inside = tree
        for key in path[:-1]:
            usable = (isinstance(inside, dict) and key in inside) or (
                isinstance(inside, list) and isinstance(key, int) and key < len(inside)
            )
            inside = inside[key] if usable else None
        if isinstance(inside, dict) or (isinstance(inside, list) and path[-1] in range(len(inside))):
            inside[path[-1]] = value
    for problem in problems(written(yaml.safe_dump(tree)), broker_named):
        assert problem.line >= 1
        assert problem.field
        assert problem.message


@given(path=st.text("abproducersweetk._settings[]", max_size=20), value=st.text(max_size=8))
@example(path="sweep", value="3")
@example(path="producers", value="")
@example(path="name", value="&a *a")
@example(path="", value="PASSWD")
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_override_plans_or_is_refused(path, value, broker_named):
    for problem in problems("demo", broker_named, overrides=[f"{path}={value}"]):
        hidden = f"--set {path}=..."  # where the value may be a secret
        assert problem.file in (f"--set {path}={value}", hidden) or problem.line >= 1


@pytest.mark.parametrize("cut", range(0, 900, 37))
def test_a_file_cut_off_anywhere_is_refused_or_plans(cut, written, broker_named):
    found = problems(written(shipped.text("demo")[:cut]), broker_named)
    assert found or "phases:" in shipped.text("demo")[:cut]
