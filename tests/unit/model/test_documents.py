"""state.json and environment.json: those of 0.1.0 load, those of newer versions are kept whole or refused."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from brokerlab.model.environment import (
    CellEnvironment,
    ClockPair,
    DurabilityFacts,
    Environment,
    ExecutionEnvironment,
)
from brokerlab.model.execution_id import ExecutionId
from brokerlab.model.state import ExecutionState, RunState

FIRST, SECOND = ExecutionId(cell="c01", repeat=1), ExecutionId(cell="c01", repeat=2)
OF_0_1_0 = {
    "schema_version": 1,
    "executions": {
        "c01-r1": {
            "state": "finished", "reason": None, "attempt": 2, "started_unix_s": 1.5, "drained": True,
            "ended_unix_s": 2.5, "disturbed": ["0.41 cores were used by other programs"],
        }
    },
}  # fmt: skip


def test_the_state_of_0_1_0_loads_and_has_the_later_fields() -> None:
    state = RunState.model_validate(OF_0_1_0)
    first = state.of(FIRST)
    assert (first.state, first.attempt, first.drained) == ("finished", 2, True)
    assert first.disturbed == ("0.41 cores were used by other programs",)
    assert (first.extra, first.replaces, first.notes) == (False, None, ())


def test_an_execution_the_document_does_not_name_is_waiting() -> None:
    assert RunState().of(FIRST) == ExecutionState(state="waiting")


def test_noting_facts_changes_one_execution_and_only_those_fields() -> None:
    state = RunState.model_validate(OF_0_1_0)
    noted = state.with_facts(SECOND, state="running", attempt=1).with_facts(SECOND, extra=True, replaces=1)
    assert noted.of(FIRST) == state.of(FIRST)
    assert noted.of(SECOND) == ExecutionState(state="running", attempt=1, extra=True, replaces=1)
    assert state.of(SECOND).state == "waiting", "the earlier document was changed"
    with pytest.raises(ValidationError):
        state.with_facts(FIRST, state="exhausted")


@pytest.mark.parametrize("document", [RunState, Environment])
def test_fields_of_a_newer_version_are_kept_and_a_newer_schema_is_refused(
    document: type[RunState] | type[Environment],
) -> None:
    newer = document.model_validate({"schema_version": 1, "colour": "red"})
    assert newer.model_dump(mode="json")["colour"] == "red"
    with pytest.raises(ValidationError, match="update brokerlab"):
        document.model_validate({"schema_version": 2})


def test_facts_of_a_cell_are_added_to_those_of_its_earlier_repeats() -> None:
    clock = ClockPair(mono_ns=1, unix_ns=2)
    first = CellEnvironment(
        broker="nats",
        version="2.15.1",
        driver_path="native",
        executions={"1": ExecutionEnvironment(start_mono_ns=10, clock=clock)},
    )
    computed = CellEnvironment(broker="nats", durability=DurabilityFacts(level="L4"))
    second = CellEnvironment(broker="nats", executions={"2": ExecutionEnvironment(start_mono_ns=20, clock=clock)})
    known = Environment().with_cell("c01", first).with_cell("c01", computed).with_cell("c01", second).cell("c01")
    assert (known.version, known.driver_path) == ("2.15.1", "native"), "what was not said again is forgotten"
    assert known.durability == DurabilityFacts(level="L4")
    assert {repeat: e.start_mono_ns for repeat, e in known.executions.items()} == {"1": 10, "2": 20}


def test_an_environment_is_read_back_as_it_was_written() -> None:
    made = Environment(run="r", cells={"c01": CellEnvironment(broker="nats", nodes=3)})
    assert Environment.model_validate_json(made.model_dump_json()) == made
    assert Environment().cell("c09") == CellEnvironment()
