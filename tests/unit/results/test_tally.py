"""Whether every message of an execution arrived as it should, asked of its evidence on disk."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from brokerlab.model.execution_id import ExecutionId
from brokerlab.results.tally import nothing_amiss
from synthetic import Faults, make_plan, write_run


def test_damaged_evidence_is_not_passed_over(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", faults={}).directory
    path = next((run.evidence(ExecutionId(cell="c01", repeat=1)) / "activity").iterdir())
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(OSError, match="cannot be read"):
        nothing_amiss(run, ExecutionId(cell="c01", repeat=1))


def test_where_every_message_arrived_nothing_is_amiss(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", faults={}).directory
    assert nothing_amiss(run, ExecutionId(cell="c01", repeat=1))


@pytest.mark.parametrize("fault", [f.name for f in fields(Faults)])
def test_one_message_that_did_not_arrive_as_it_should_is_seen(fault: str, tmp_path: Path) -> None:
    faults = {("c01", 1): Faults(**{fault: 1})}
    run = write_run(tmp_path / "run", plan=make_plan("run", cells=1, repeats=2), faults=faults).directory
    assert not nothing_amiss(run, ExecutionId(cell="c01", repeat=1))
    assert nothing_amiss(run, ExecutionId(cell="c01", repeat=2))


def test_a_group_that_received_nothing_is_seen(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", faults={}).directory
    for path in (run.evidence(ExecutionId(cell="c01", repeat=1)) / "sequence").iterdir():
        path.unlink()
    assert not nothing_amiss(run, ExecutionId(cell="c01", repeat=1))
