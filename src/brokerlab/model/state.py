"""state.json: how far a run is. Written by the runner whenever an execution begins or ends."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import Field

from brokerlab.model.document import SCHEMA_VERSION, Document, SchemaVersion
from brokerlab.model.execution_id import ExecutionId


class ExecutionState(Document):
    """How one execution stands. "waiting" is one that has not begun; "running" without a runner was cut off."""

    state: Literal["waiting", "running", "finished", "failed", "interrupted"] = "waiting"
    reason: str | None = None  # why it failed or was interrupted
    attempt: int = 0  # how often it was begun
    started_unix_s: float | None = None
    ended_unix_s: float | None = None
    drained: bool | None = None  # None without consumers, or before the drain
    disturbed: tuple[str, ...] = ()  # 0.1.0: what disturbed each attempt that was left out
    extra: bool = False  # beyond the plan's repeats, run because another execution of its cell was spoiled
    replaces: int | None = None  # the repeat that an extra execution stands in for
    why: str | None = None  # what spoiled that one
    notes: tuple[str, ...] = ()


class RunState(Document):
    """The executions that have begun, by name ("c01-r2")."""

    schema_version: SchemaVersion = SCHEMA_VERSION
    executions: dict[str, ExecutionState] = Field(default_factory=dict)

    def of(self, execution: ExecutionId) -> ExecutionState:
        """The state of any execution: "waiting" where the document does not name it."""
        return self.executions.get(str(execution), ExecutionState())

    def with_facts(self, execution: ExecutionId, **facts: Any) -> Self:
        """The same with these fields of one execution changed."""
        changed = ExecutionState.model_validate({**self.of(execution).model_dump(), **facts})
        return self.model_copy(update={"executions": {**self.executions, str(execution): changed}})
