from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from brokerlab.cli.verdict_text import verdict_lines
from brokerlab.errors import NotFoundError
from brokerlab.evidence.tables import EVENT, OUTCOME
from brokerlab.evidence.writer import SegmentWriter
from brokerlab.model.execution_id import ExecutionId
from brokerlab.pipeline.analyze import analyze
from brokerlab.report.page import write_report
from brokerlab.results.directory import RunDirectory, write_json
from brokerlab.results.reader import read_rows, read_table, read_verdict
from brokerlab.results.tables import DELIVERY, LATENCY_PER_PHASE, RUN_SUMMARY, STORED_TABLES, UNREADABLE_SEGMENT
from brokerlab.results.verdict import Verdict
from synthetic import Faults, SyntheticRun, make_plan, write_run

pytestmark = pytest.mark.usefixtures("spark")


def fingerprints(run: RunDirectory) -> dict[str, str]:
    files = [*sorted(run.tables.rglob("*.parquet")), run.verdict_file]
    return {str(f.relative_to(run.path)): hashlib.sha256(f.read_bytes()).hexdigest() for f in files}


def test_analyzing_twice_gives_the_same_files(synthetic: SyntheticRun, verdict: Verdict) -> None:
    run = synthetic.directory
    first = fingerprints(run)
    (run.tables / "delivery" / "left-over.parquet").write_bytes(b"from an older version")
    assert analyze(run.path) == verdict == read_verdict(run)
    assert fingerprints(run) == first
    assert {Path(f).parts[1] for f in first if f.startswith("tables")} == set(STORED_TABLES)
    assert not list(run.path.glob(".tables-*"))


def test_no_evidence_at_all_is_invalid_and_says_so_without_spark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def must_not_start(*_: object) -> None:
        raise AssertionError("Spark was started for nothing")

    monkeypatch.setattr("brokerlab.pipeline.analyze.spark_session", must_not_start)
    run = RunDirectory(tmp_path / "run")
    write_json(run.path / "plan.json", make_plan("run").model_dump(mode="json"))
    verdict = analyze(run.path)
    assert (verdict.verdict, verdict.complete) == ("invalid", False)
    assert verdict.headline.startswith("Invalid: there is no evidence at all")
    assert read_rows(run, DELIVERY) == []
    assert read_verdict(run) == verdict


def test_cut_off_execution_with_damaged_evidence_is_analyzed_and_claims_nothing(tmp_path: Path) -> None:
    """c01-r1 is whole; c01-r2 never ran; c02-r1 lost a segment of arrivals; c02-r2 was killed with its sender."""
    plan = make_plan("run")
    run = write_run(
        tmp_path / "run",
        plan=plan,
        faults={("c01", 1): Faults(duplicated=2)},
        skip=("c01-r2",),
        states={"c02-r2": "running"},
    ).directory
    victim = sorted(run.evidence(ExecutionId(cell="c02", repeat=1)).glob("sequence/*.parquet"))[0]
    victim.write_bytes(victim.read_bytes()[:100])
    for segment in run.evidence(ExecutionId(cell="c02", repeat=2)).glob(
        "outcome/*.parquet"
    ):  # the sender died before it wrote most of it
        kept = pq.read_table(segment).slice(0, 1)
        segment.unlink()
        writer = SegmentWriter(run.evidence(ExecutionId(cell="c02", repeat=2)), segment.stem, OUTCOME)
        writer.add({n: kept[n].to_pylist() for n in kept.column_names})
        writer.flush()
    before = {p: p.read_bytes() for p in run.path.rglob("*.parquet")}
    verdict = analyze(run.path)
    assert {p: p.read_bytes() for p in before} == before, "the analysis changed evidence"
    found = {(r["cell"], r["repeat"]): r for r in read_rows(run, DELIVERY)}
    assert set(found) == {("c01", 1), ("c02", 1), ("c02", 2)}
    assert found["c02", 1]["drained"] is False
    assert found["c02", 2]["drained"] is False
    assert found["c02", 2]["unexpected"] == 0  # arrived, so it was sent: the evidence of it is what is missing
    assert found["c02", 2]["recovered"] > 0
    assert not verdict.delivery_violated
    assert (verdict.verdict, verdict.complete) == ("cannot tell", False)
    assert len(verdict.quarantined) == 1
    assert "c02-r1" in verdict.quarantined[0]
    (unreadable,) = read_rows(run, UNREADABLE_SEGMENT)
    assert run.path / unreadable["file"] == victim
    assert (unreadable["table"], unreadable["execution"]) == ("sequence", "c02-r1")
    assert analyze(run.path) == verdict, "the second analysis says something else"
    codes = {(r.code, r.cell, r.repeat) for r in verdict.reasons}
    assert {("repeat_missing", "c01", 2), ("segment_unreadable", "c02", 1), ("repeat_missing", "c02", 2)} <= codes
    assert {c.cell: c.verdict for c in verdict.cells} == {"c01": "cannot tell", "c02": "cannot tell"}
    summary = {(r["cell"], r["metric"]): r for r in read_rows(run, RUN_SUMMARY)}
    assert summary["c02", "sent_per_s"]["n"] == 1  # only the finished repeat


def test_groups_are_accounted_for_one_by_one_and_by_their_own_drain(tmp_path: Path) -> None:
    plan = make_plan("run", cells=1, repeats=1, groups=2)
    run = write_run(tmp_path / "run", plan=plan, faults={("c01", 1): Faults(lost=3, rejected=2)}).directory
    late = SegmentWriter(run.events(ExecutionId(cell="c01", repeat=1)), "late", EVENT)
    detail = {"complete": False, "groups": {"g1": {"complete": True}, "g2": {"complete": False, "because": "deadline"}}}
    late.add({"run": ["run"], "cell": ["c01"], "repeat": [1], "source": ["runner"], "kind": ["drain"],
              "at_mono_ns": [1 << 60], "detail": [json.dumps(detail)]})  # fmt: skip
    late.flush()
    verdict = analyze(run.path)
    found = {r["group"]: r for r in read_rows(run, DELIVERY)}
    assert {g: (r["lost"], r["drained"]) for g, r in found.items()} == {"g1": (3, True), "g2": (3, False)}
    assert verdict.delivery["lost"] == 3
    assert verdict.delivery["sent"] == 10_000
    assert verdict.delivery["rejected"] == 2
    assert {r["group"] for r in read_rows(run, LATENCY_PER_PHASE) if r["measure"] == "end_to_end_latency"} == {
        "g1",
        "g2",
    }


def test_cell_without_consumers_states_nothing_about_loss(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", plan=make_plan("run", cells=1, repeats=1, groups=0), faults={}).directory
    verdict = analyze(run.path)
    (row,) = read_rows(run, DELIVERY)
    assert (row["group"], row["sent"], row["lost"], row["drained"]) == ("", 10_000, 0, True)
    assert verdict.verdict == "valid"
    assert [r.code for r in verdict.reasons] == ["no_consumers"]
    assert verdict.delivery == {"sent": 10_000, "acknowledged": 10_000, "rejected": 0, "unknown": 0}
    assert verdict.headline == "Valid: 1 repeat; 10,000 messages sent, no consumers."
    summed = {r["metric"] for r in read_rows(run, RUN_SUMMARY)}
    assert summed & {"lost", "duplicated", "corrupted", "rejected", "unknown"} == {"rejected", "unknown"}
    line = next(text for text in verdict_lines(verdict) if text.startswith("  messages:"))
    assert line.endswith("10,000 acknowledged, 0 rejected, 0 unknown, the workload has no consumers")
    page = write_report(run).read_text()
    assert "Delivery: cannot tell, the workload has no consumers" in page
    assert "Without consumers nothing can be said about lost messages." in page
    assert "Delivery kept" not in page
    headline = page[page.index('<section id="headline"') : page.index('<section id="throughput"')]
    assert re.findall(r'data-label="(Sent|Received)"', headline) == ["Sent"], "a rate of sends is none of deliveries"


def test_reading_a_run_that_was_not_analyzed(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path)
    assert read_table(run, DELIVERY).num_rows == 0
    with pytest.raises(NotFoundError, match="no verdict yet"):
        read_verdict(run)
