"""When an execution counts as disturbed from outside, and when it must be kept whatever disturbed it."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from brokerlab.evidence.tables import EVIDENCE_TABLES
from brokerlab.evidence.writer import SegmentWriter
from brokerlab.model.execution_id import ExecutionId
from brokerlab.model.histogram import SUB_BUCKET_BITS
from brokerlab.model.metrics import MEASURES
from brokerlab.results.directory import RunDirectory
from brokerlab.results.disturbance import disturbance, is_late
from brokerlab.results.tally import nothing_amiss
from synthetic import Faults, make_plan, write_run
from synthetic_evidence import histogram_columns

MS = 1_000_000
START_S = 1_800_000_000
SECONDS = 10
WHERE = {"run": "r", "cell": "c01", "repeat": 1}


def write(directory: Path, table: str, rows: list[dict[str, Any]]) -> None:
    of = EVIDENCE_TABLES[table]
    writer = SegmentWriter(directory, "w", of)
    writer.add({name: [row.get(name, 0) for row in rows] for name in of.names() if name != "host"})
    writer.flush()


def interval(role: str, second: int, **samples_ns: list[int]) -> dict[str, Any]:
    made: dict[str, Any] = {
        **WHERE, "agent": role, "role": role, "group": "g1" if role == "consumer" else "", "phase": "measure",
        "second_unix_s": START_S + second, "sub_bucket_bits": SUB_BUCKET_BITS,
    }  # fmt: skip
    for measure in MEASURES:
        made |= histogram_columns(measure, np.array(samples_ns.get(measure, []), np.int64))
    return made


def execution(
    tmp_path: Path, *, late_s: tuple[int, ...] = (), late_ns: int = 30 * MS, noise: dict[int, float] | None = None,
    metric: str = "cpu_steal_cores",
) -> RunDirectory:  # fmt: skip
    """Ten measured seconds of a hundred messages, each 20 ms on its way; in some seconds every tenth was sent late."""
    rows = []
    for s in range(SECONDS):
        delays = [late_ns] * 10 + [MS // 10] * 90 if s in late_s else [MS // 10] * 100
        rows.append(interval("producer", s, send_delay=delays, publish_latency=[20 * MS] * 100))
        rows.append(interval("consumer", s, end_to_end_latency=[20 * MS] * 100))
    directory = RunDirectory(tmp_path)
    write(directory.evidence(ExecutionId(cell="c01", repeat=1)), "interval", rows)
    readings = [
        {**WHERE, "second_unix_s": START_S + s, "subject": "host", "metric": metric,
         "value": (noise or {}).get(s, 0.01), "unit": "cores"}
        for s in range(SECONDS)
    ]  # fmt: skip
    write(directory.probes(ExecutionId(cell="c01", repeat=1)), "reading", readings)
    return directory


def found(directory: RunDirectory, *, is_closed: bool = False) -> str | None:
    return disturbance(directory, ExecutionId(cell="c01", repeat=1), is_closed=is_closed)


def test_lateness_in_seconds_that_others_had_is_a_disturbance(tmp_path: Path) -> None:
    text = found(execution(tmp_path, late_s=(4, 5), noise={5: 0.24}))
    assert text == (
        "0.24 cores were taken by the hypervisor at 08:00:05 UTC, and messages were sent late (p99 30.0 ms)"
    )


def test_the_hypervisor_is_known_more_exactly_than_other_programs(tmp_path: Path) -> None:
    assert found(execution(tmp_path / "taken", late_s=(4, 5), noise={5: 0.06})) is not None
    assert found(execution(tmp_path / "used", late_s=(4, 5), noise={5: 0.06}, metric="cpu_foreign_cores")) is None


def test_others_who_do_not_make_us_late_do_not_matter(tmp_path: Path) -> None:
    assert found(execution(tmp_path, noise={5: 0.24})) is None


def test_lateness_that_nobody_else_explains_is_our_own(tmp_path: Path) -> None:
    assert found(execution(tmp_path, late_s=(4, 5))) is None


def test_where_we_would_have_been_late_anyway_nobody_else_is_to_blame(tmp_path: Path) -> None:
    assert found(execution(tmp_path, late_s=(1, 2, 5, 8), noise={5: 0.24})) is None


def test_lateness_below_the_limits_is_no_disturbance(tmp_path: Path) -> None:
    assert found(execution(tmp_path, late_s=(4, 5), late_ns=3 * MS // 2, noise={5: 0.24})) is None, "7 % of 20 ms"
    assert is_late(2 * MS + 1, 20 * MS)
    assert not is_late(2 * MS, 20 * MS)
    assert not is_late(MS, MS), "up to 1 ms it is only noted"


def test_a_closed_loop_knows_no_lateness_but_a_mean(tmp_path: Path) -> None:
    late = execution(tmp_path / "late", late_s=(4, 5), noise={5: 0.24})
    assert found(late, is_closed=True) is None
    loud = execution(tmp_path / "loud", noise=dict.fromkeys(range(SECONDS), 0.3), metric="cpu_foreign_cores")
    assert found(loud, is_closed=True) == (
        "0.30 cores were used by other programs (mean of the measure phase; limit 0.2)"
    )


def test_without_evidence_or_readings_nothing_is_claimed(tmp_path: Path) -> None:
    assert found(RunDirectory(tmp_path)) is None
    late = execution(tmp_path, late_s=(4, 5), noise={5: 0.24})
    for path in (late.probes(ExecutionId(cell="c01", repeat=1)) / "reading").iterdir():
        path.unlink()
    assert found(late) is None


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
