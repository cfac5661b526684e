"""`cells`: named overlays of a workload, each a cell under its own name."""

from __future__ import annotations

import pytest

from brokerlab.errors import Problem, WorkloadError
from brokerlab.model.plan import Endpoint, RunPlan
from brokerlab.workload.load import plan_workload

BASE = """\
name: acks
question: What does an acknowledgement cost?
broker: kafka
producers: {message: 200B}
phases: {measure: 1s}
"""
NAMED = (
    BASE
    + """\
cells:
  near-1:
    producers.rate: 250_000/s
    client_settings.kafka.acks: 1
  sat-0: {producers.window: 150_000, client_settings.kafka.linger.ms: 0, client_settings.kafka.x: no}
"""
)


@pytest.fixture
def plan(written, broker_named):
    def planned(text: str, **given) -> RunPlan:
        return plan_workload(written(text), broker_named=broker_named, **given)

    return planned


@pytest.fixture
def problems_of(plan):
    def problems(text: str, **given) -> list[Problem]:
        with pytest.raises(WorkloadError) as caught:
            plan(text, **given)
        return list(caught.value.problems)

    return problems


def test_each_name_is_a_cell_with_its_own_values_and_its_name_as_label(plan):
    near, sat = plan(NAMED).cells
    assert [(c.cell, c.label, c.broker) for c in (near, sat)] == [("c01", "near-1", "kafka"), ("c02", "sat-0", "kafka")]
    assert (near.producers.schedule.rate_per_s, near.producers.schedule.window) == (250_000, None)
    assert (sat.producers.schedule.rate_per_s, sat.producers.schedule.window) == (None, 150_000)
    assert near.client_settings == {"acks": "1"}
    assert sat.client_settings == {"linger.ms": "0", "x": "no"}
    assert near.parameters == {"producers.rate": "250_000/s", "client_settings.kafka.acks": "1"}
    assert near.producers.payload.sizes[0].message_bytes == 200


def test_a_cell_may_be_the_workload_as_it_is_and_equal_cells_stay_two(plan):
    run = plan(
        BASE.replace("{message", "{rate: 5/s, message") + "cells: {a: {}, also-a:, more: {producers.rate: 9/s}}\n"
    )
    assert [(c.label, c.producers.schedule.rate_per_s) for c in run.cells] == [("a", 5), ("also-a", 5), ("more", 9)]


def test_with_several_brokers_each_cell_is_run_on_each_and_named_after_both(plan):
    run = plan(NAMED.replace("broker: kafka", "brokers: [kafka, nats]"))
    assert [c.label for c in run.cells] == ["kafka, near-1", "nats, near-1", "kafka, sat-0", "nats, sat-0"]
    assert run.cells[1].parameters == {"producers.rate": "250_000/s"}, "settings of another broker are none of its own"


def test_a_cell_may_name_its_own_broker(plan):
    text = BASE.replace("message", "rate: 5/s, message") + "cells: {k: {}, n: {broker: nats}, a: {brokers: [able]}}\n"
    given = {"nats": Endpoint(addresses=("127.0.0.1:9",))}
    run = plan(text, endpoints=given)
    assert [(c.label, c.broker, c.endpoint) for c in run.cells] == [
        ("k", "kafka", ()),
        ("n", "nats", ("127.0.0.1:9",)),
        ("a", "able", ()),
    ]
    assert run.cells[1].parameters == {}


def test_a_flag_changes_one_cell_or_all_of_them_and_null_takes_one_away(plan):
    one = plan(NAMED, overrides=["cells.near-1.producers.rate=7/s", "cells.near-1.client_settings.kafka.linger.ms=3"])
    assert one.cells[0].producers.schedule.rate_per_s == 7
    assert one.cells[0].client_settings == {"acks": "1", "linger.ms": "3"}
    every = plan(NAMED, overrides=["client_settings.kafka.linger.ms=9"])
    assert [c.client_settings["linger.ms"] for c in every.cells] == ["9", "9"]
    assert [c.label for c in plan(NAMED, overrides=["cells.near-1=null"]).cells] == ["sat-0"]
    added = plan(NAMED, overrides=["cells.mid={producers.rate: 8/s}"])
    assert [c.label for c in added.cells] == ["near-1", "sat-0", "mid"]


def test_names_decide_the_fingerprint(plan):
    assert plan(NAMED).fingerprint == plan(NAMED).fingerprint
    assert plan(NAMED).fingerprint != plan(NAMED.replace("near-1", "near")).fingerprint


@pytest.mark.parametrize(
    ("cells", "line", "field", "message", "nearest"),
    [
        ("cells: 3", 6, "cells", "such as near: {producers.rate: 20_000/s}", None),
        ("cells:\n  a: 3", 7, "cells.a", "such as near: {producers.rate: 20_000/s}", None),
        ("cells:\n  a: [1]", 7, "cells.a", "such as near: {producers.rate: 20_000/s}", None),
        ("cells:\n  A b: {}", 7, "cells.A b", "must be lower-case letters", None),
        ("cells:\n  c01: {}", 7, "cells.c01", "is how cells without a name are numbered", None),
        ("cells:\n  a: {}\n  a: {}", 8, "cells.a", "is given twice, first in line 7", None),
        ("cells:\n  a:\n    producers.rat: 5/s", 8, "producers.rat", "is not a field", "rate"),
        ("cells:\n  a: {}\n  b:\n    producers.rate: quick", 9, "producers.rate", "must be a rate such as", None),
        ("cells:\n  a:\n    producers..rate: 5/s", 8, "cells.a.producers..rate", "names joined by dots", None),
        ("cells:\n  a:\n    repeats: 5", 8, "cells.a.repeats", "cannot be set for one cell", None),
        ("cells:\n  a:\n    question.x: 5", 8, "cells.a.question.x", "cannot be set for one cell", None),
        ("cells:\n  a:\n    phases.measure.x: 5", 8, "cells.a.phases.measure.x", "has no fields of its own", None),
        ("cells:\n  a:\n    producers.window: 5", 8, "producers.window", "not both", None),
        ("cells: {a: {}}\nsweep: {producers.rate: [1/s]}", 7, "sweep", "cannot be given together with cells", None),
        ("cells: {a: {broker: kafka, brokers: [able]}}", 6, "broker", "keep one of them", None),
    ],
)
def test_what_is_wrong_with_a_cell_names_its_line(problems_of, cells, line, field, message, nearest):
    (problem,) = problems_of(BASE.replace("{message", "{rate: 5/s, message") + cells + "\n")
    assert (problem.line, problem.field) == (line, field)
    assert message in problem.message
    assert problem.nearest == nearest


def test_too_many_cells_are_refused(problems_of):
    (problem,) = problems_of(
        BASE.replace("message", "rate: 5/s, message") + "cells:\n" + "".join(f"  n{i}: {{}}\n" for i in range(501))
    )
    assert "has 501 cells; at most 500" in problem.message


@pytest.mark.parametrize("given", [{"brokers": ["nats"]}, {"overrides": ["broker=nats"]}])
def test_a_flag_cannot_replace_the_brokers_that_cells_name(problems_of, given):
    text = BASE.replace("message", "rate: 5/s, message") + "cells: {a: {broker: kafka}, b: {}}\n"
    (problem,) = problems_of(text, **given)
    assert problem.line == 0
    assert "cells name their own (a)" in problem.message


def test_a_password_in_a_cell_is_refused_and_never_repeated(problems_of):
    text = BASE.replace("message", "rate: 5/s, message")
    for inside in (
        "security.password: hunter-2",
        "client_settings.kafka.sasl.password: hunter-2",
        "security: hunter-2",
    ):
        found = problems_of(text + f"cells: {{a: {{{inside}}}}}\n")
        found += problems_of(text + "cells: {a: {}}\n", overrides=[f"cells.a.{inside.replace(': ', '=')}"])
        assert not [problem for problem in found if "hunter-2" in f"{problem} {problem.value}"]
