"""Which executions are run again in another's place, asked of evidence on disk as soon as an execution has ended."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from brokerlab.model.execution_id import ExecutionId
from brokerlab.model.plan import RunPlan
from brokerlab.results.directory import RunDirectory
from brokerlab.rounds import extra_in_place_of, rounds, spoiled
from synthetic import Faults, make_plan, write_run

FIRST = ExecutionId(cell="c01", repeat=1)
Rows = list[dict[str, Any]]


def written(
    path: Path, *, retries: int = 2, faults: dict[tuple[str, int], Faults] | None = None
) -> tuple[RunPlan, RunDirectory]:
    plan = make_plan("run", cells=1, repeats=2).model_copy(update={"retries": retries})
    run = write_run(path / "run", plan=plan, faults=faults or {}).directory
    return plan, run


def rewrite(folder: Path, change: Callable[[Rows], None]) -> None:
    """Every segment of a table with its rows changed."""
    for path in folder.glob("*.parquet"):
        table = pq.read_table(path)
        rows = table.to_pylist()
        change(rows)
        pq.write_table(pa.Table.from_pylist(rows, table.schema), path)


def make_loud(run: RunDirectory, execution: ExecutionId) -> None:
    def change(rows: Rows) -> None:
        for row in rows:
            if row["metric"] == "cpu_foreign_cores":
                row["value"] = 1.5

    rewrite(run.probes(execution) / "reading", change)


def end(run: RunDirectory, execution: ExecutionId, **facts: Any) -> None:
    run.write("state.json", run.state().with_facts(execution, **{"state": "finished", **facts}))


def test_a_round_has_every_cell_once() -> None:
    plan = make_plan("run", cells=3, repeats=4)
    assert [{e.cell for e in cells} for cells in rounds(plan)] == [{"c01", "c02", "c03"}] * 4


def test_a_good_execution_is_not_run_again(tmp_path: Path) -> None:
    plan, run = written(tmp_path)
    assert spoiled(plan, run, FIRST) is None
    assert extra_in_place_of(plan, run, FIRST) is None


def test_a_spoiled_one_gets_another_with_the_next_free_number(tmp_path: Path) -> None:
    plan, run = written(tmp_path)
    make_loud(run, FIRST)
    extra = extra_in_place_of(plan, run, FIRST)
    assert extra is not None
    assert (str(extra.execution), extra.replaces) == ("c01-r3", 1)
    assert "used by other programs" in extra.why


def test_an_extra_one_that_holds_ends_it_and_one_that_is_spoiled_gets_another(tmp_path: Path) -> None:
    plan, run = written(tmp_path)
    make_loud(run, FIRST)
    third = ExecutionId(cell="c01", repeat=3)
    for kind in ("evidence", "probes"):
        (run.path / kind / "c01-r2").rename(run.path / kind / "c01-r3")
    end(run, third, extra=True, replaces=1)
    assert extra_in_place_of(plan, run, FIRST) is None
    make_loud(run, third)
    fourth = extra_in_place_of(plan, run, FIRST)
    assert fourth is not None
    assert (str(fourth.execution), fourth.replaces) == ("c01-r4", 1)


def test_an_interrupted_extra_one_is_given_again(tmp_path: Path) -> None:
    plan, run = written(tmp_path)
    make_loud(run, FIRST)
    third = ExecutionId(cell="c01", repeat=3)
    end(run, third, state="interrupted", extra=True, replaces=1, why="loud")
    again = extra_in_place_of(plan, run, FIRST)
    assert again is not None
    assert again.execution == third


def test_a_cell_has_no_more_extra_executions_than_retries(tmp_path: Path) -> None:
    plan, run = written(tmp_path, retries=0)
    make_loud(run, FIRST)
    assert extra_in_place_of(plan, run, FIRST) is None


@pytest.mark.parametrize("fault", ["lost", "duplicated", "reordered", "corrupted", "unexpected"])
def test_nothing_is_run_in_place_of_a_message_that_did_not_arrive_as_it_should(fault: str, tmp_path: Path) -> None:
    plan, run = written(tmp_path, faults={("c01", 1): Faults(**{fault: 1})})
    make_loud(run, FIRST)
    assert extra_in_place_of(plan, run, FIRST) is None


@pytest.mark.parametrize("state", ["failed", "interrupted", "running"])
def test_only_a_finished_execution_can_be_spoiled(state: str, tmp_path: Path) -> None:
    plan, run = written(tmp_path)
    make_loud(run, FIRST)
    end(run, FIRST, state=state)
    assert spoiled(plan, run, FIRST) is None


def test_damaged_evidence_is_kept_for_the_analysis(tmp_path: Path) -> None:
    plan, run = written(tmp_path)
    make_loud(run, FIRST)
    path = next((run.evidence(FIRST) / "interval").glob("*.parquet"))
    path.write_bytes(path.read_bytes()[:-10])
    assert spoiled(plan, run, FIRST) is None
