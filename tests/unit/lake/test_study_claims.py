"""A study's tables, made by Spark from a lake: against the judgement without Spark, and against DuckDB and numpy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from lake_runs import Place
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

from brokerlab.judge.claim_rows import FACTS, StudyQuestion
from brokerlab.lake.ingest import add
from brokerlab.lake.manifest import init
from brokerlab.model.listener import SilentListener
from brokerlab.pipeline.claims import claim_facts, claim_figures
from brokerlab.pipeline.windows import window_figures
from brokerlab.results.directory import RunDirectory
from brokerlab.results.tables import LATENCY_PER_SECOND, RATE_PER_SECOND
from brokerlab.results.verdict import Reason
from brokerlab.studies.load import Study, load_study
from brokerlab.studies.looks import judged_so_far
from brokerlab.studies.running import RunningStudy, ended_runs, question
from brokerlab.studies.tables import StudyTables, inputs, kept_tables, make_tables
from study_runs import STUDY, FakeLab, write_study
from synthetic_tables import write_table

MEANS = {"slow": 100.0, "fast": 200.0, "other": 260.0}
MORE = """\
  - id: kept
    says: what was asked for is sent, in order
    measure: all(share(slow, sent_per_s, configured) at least 0.9, rank(other, fast, slow, sent_per_s) at least 1)
    expects: [not_steady]
  - id: flat
    says: all cells are alike
    measure: spread(*, sent_per_s)
    holds: below 1.1
  - id: later
    says: the rate falls
    measure: during(fast, sent_per_s, 3s to 5s, 0s to 2s)
    holds: below 1
  - id: slower
    says: publishing takes longer later
    measure: during(fast, publish_latency_p99_ns, 3s to 5s, 0s to 2s)
    holds: above 1
"""
UNSTEADY = Reason(code="not_steady", weight="cannot tell", cell="c01", repeat=None, text="it sways", affects=("rates",))
LINES = (
    "\n      7: {title: Over time, cells: [fast], along: second}"
    "\n      8: {title: Latency, cells: [fast], along: second, metric: publish_latency_p99_ns, divide_by: 1_000_000, unit: ms}"
)


def truth(label: str, metric: str, number: int) -> float | None:
    if metric == "lost":
        return 0.0
    return MEANS[label] * float(np.exp(np.random.default_rng([number, sum(label.encode())]).normal(0, 0.03)))


class Measured:
    """A study that was run, and its runs in a lake."""

    def __init__(self, root: Path, spark: SparkSession) -> None:
        self.spark, self.place = spark, Place(root, spark)
        self.place.runs.mkdir(parents=True)
        init(self.place.store)
        text = STUDY.replace("x: configured rate}", "x: configured rate}" + LINES) + MORE
        self.study: Study = load_study(write_study(root / "study", text))
        laboratory = FakeLab(self.place.runs, truth, verdicts={"slow": {"rates": "cannot tell"}}, reasons=[UNSTEADY])
        self.running = RunningStudy(self.study, "quick", self.place.runs, laboratory, SilentListener())
        self.running.run()
        for run in self.runs:
            write_table(run.path, RATE_PER_SECOND, seconds(run))
            write_table(run.path, LATENCY_PER_SECOND, latencies(run))
        add(self.place.store, [r.path for r in self.runs], self.place.session)
        self.question: StudyQuestion = question(self.running.plan(None), self.running.record, self.place.runs)

    @property
    def runs(self) -> list[RunDirectory]:
        return ended_runs(self.running.record, self.place.runs)

    def gold(self, name: str) -> Any:
        return self.place.lake.frame(name, self.spark)

    def tables(self, study: Study | None = None, asked: StudyQuestion | None = None) -> StudyTables:
        directory = self.running.directory
        return make_tables(
            study or self.study, asked or self.question, directory, lambda: self.place.lake, self.place.session
        )


def seconds(run: RunDirectory) -> list[dict[str, Any]]:
    """The rate falls from second to second by a tenth."""
    rows = []
    for e in run.plan().order:
        for s in range(6):
            counts = dict.fromkeys(("due", "acknowledged", "rejected", "unknown", "received", "buffer_full"), 0)
            rows.append(
                {**counts, "run": run.name, "cell": e.cell, "repeat": e.repeat, "second_unix_s": 1000 + 50 * e.repeat + s,
                 "phase": "measure" if s else "warm_up", "role": "producer", "group": "", "sent": 1000 - 100 * s + e.repeat,
                 "bytes": 2_000_000}
            )  # fmt: skip
    return rows


def latencies(run: RunDirectory) -> list[dict[str, Any]]:
    """Of two groups, in every second, one of them the worse; and rows that `during` must not look at."""
    rng, rows = np.random.default_rng(5), []
    quantiles = [c.name for c in LATENCY_PER_SECOND.columns if c.name.startswith("p") and c.name.endswith("_ns")]
    for e in run.plan().order:
        for s in range(6):
            for measure in ("publish_latency", "end_to_end_latency"):
                for group in ("g1", "g2"):
                    worst = int(1e6 * (1 + s) * rng.uniform(0.9, 1.1) * (10 if measure == "end_to_end_latency" else 1))
                    of_phase = "measure" if s else "warm_up"
                    known = dict.fromkeys(quantiles, worst // 2) | {"p99_ns": worst}
                    rows.append(
                        {**known, "run": run.name, "cell": e.cell, "repeat": e.repeat, "counted": True,
                         "second_unix_s": 1000 + 50 * e.repeat + s, "phase": of_phase, "measure": measure, "group": group,
                         "count": 10, "max_ns": worst, "mean_ns": worst / 2}
                    )  # fmt: skip
    return rows


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Measured:
    return Measured(tmp_path_factory.mktemp("studied"), spark)


@pytest.fixture(scope="module")
def tables(measured: Measured) -> StudyTables:
    return measured.tables()


def test_spark_judges_as_the_judgement_without_spark_does(measured: Measured, tables: StudyTables) -> None:
    direct = {j.claim.id: j for j in judged_so_far(measured.question, measured.runs)}
    assert [row["claim"] for row in tables.claims] == ["twice", "open", "kept", "flat", "later", "slower"]
    for row in tables.claims:
        found = direct[row["claim"]]
        assert (row["verdict"], row["reason"]) == (found.verdict, found.reason)
        assert found.chief.measured is not None
        assert (row["value"], row["low"], row["high"]) == pytest.approx(
            (found.chief.measured.value, found.chief.measured.low, found.chief.measured.high)
        )
    assert [row["verdict"] for row in tables.claims] == [
        "cannot tell", "reproduced", "reproduced", "cannot tell", "reproduced", "reproduced",
    ]  # fmt: skip
    assert "not_steady" in tables.claims[0]["reason"]  # `kept` expects it, `twice` does not


def test_claims_carry_what_was_published_and_the_runs_behind_them(measured: Measured, tables: StudyTables) -> None:
    twice = tables.claims[0]
    assert (twice["published"], twice["published_low"], twice["published_high"]) == (2.0, 1.9, 2.1)
    assert (twice["published_where"], twice["cells"]) == ("figure 6", "fast,slow")
    assert set(twice["runs"].split(",")) == {
        r.name for r in measured.runs if "slow" in [c.label for c in r.plan().cells]
    } | {r.name for r in measured.runs if "fast" in [c.label for c in r.plan().cells]}
    assert [(p["part"], p["place"]) for p in tables.parts if p["claim"] == "kept"] == [(1, "inside"), (2, "inside")]


def test_values_by_round_are_those_of_execution_figure_by_duckdb(measured: Measured) -> None:
    found = claim_figures(measured.spark, measured.gold, measured.question).where("claim = 'twice'").toArrow()
    lake = measured.place.lake
    with duckdb.connect() as connection:
        for name in ("execution_figure", "executions", "cells"):
            connection.register(name, lake.dataset(name))
        wanted = connection.sql(
            "SELECT c.label AS name, run, e.round, f.value FROM execution_figure f JOIN executions e USING (run, cell, repeat)"
            " JOIN cells c USING (run, cell) WHERE f.metric = 'sent_per_s' AND e.counted AND c.label IN ('fast', 'slow')"
            " ORDER BY ALL"
        ).fetchall()
    rows = sorted(tuple(r[k] for k in ("name", "run", "round", "value")) for r in found.to_pylist())
    assert rows == wanted
    assert {r[0] for r in rows} == {"fast", "slow"}  # the cells that the measure names and no others


def test_facts_are_those_of_cells_reasons_and_executions_by_duckdb(measured: Measured) -> None:
    found = claim_facts(measured.spark, measured.gold, measured.question).where("claim = 'open'").toArrow().to_pylist()
    assert list(found[0]) == list(FACTS.names())
    with duckdb.connect() as connection:
        for name in ("cells", "executions"):
            connection.register(name, measured.place.lake.dataset(name))
        wanted = connection.sql(
            "SELECT label, run, driver_path, rates, rate_per_s, count(*) FILTER (state = 'finished') FROM cells"
            " JOIN executions USING (run, cell) WHERE label IN ('fast', 'other') GROUP BY ALL ORDER BY ALL"
        ).fetchall()
    keys = ("name", "run", "driver_path", "rates", "rate_per_s", "finished")
    assert sorted(tuple(f[k] for k in keys) for f in found) == wanted


def test_reasons_of_executions_that_were_set_aside_are_no_facts(measured: Measured) -> None:
    def gold(name: str) -> Any:
        frame = measured.gold(name)
        first = (sf.col("cell") == "c01") & (sf.col("repeat") == 1)
        if name == "executions":
            return frame.withColumn("counted", sf.col("counted") & ~first)
        if name == "reasons":
            own = frame.withColumn("repeat", sf.lit(1)).withColumn("code", sf.lit("noisy_neighbour"))
            return frame.unionByName(own)
        return frame

    assert {r["code"] for r in gold("reasons").collect()} == {"not_steady", "noisy_neighbour"}
    found = claim_facts(measured.spark, gold, measured.question).where("claim = 'kept' AND name = 'slow'").collect()
    assert found
    assert [[r["code"] for r in json.loads(row["reasons"])] for row in found] == [["not_steady"]] * len(found)


def test_a_saturated_agent_is_a_fact_even_where_it_is_a_note(measured: Measured) -> None:
    def gold(name: str) -> Any:
        frame = measured.gold(name)
        if name != "reasons":
            return frame
        note = {"weight": "note", "code": "agent_saturated", "text": "an agent was full"}
        return frame.unionByName(frame.withColumns({k: sf.lit(v) for k, v in note.items()}))

    found = claim_facts(measured.spark, gold, measured.question).where("claim = 'twice'").collect()
    assert {r["name"]: r["saturated"] for r in found} == {"slow": "an agent was full", "fast": None}
    assert all("agent_saturated" not in (r["reasons"] or "") for r in found)


def test_windows_are_medians_of_seconds(measured: Measured, tables: StudyTables) -> None:
    rows = window_figures(measured.gold, measured.question).where("metric like 'sent_per_s%'").toArrow().to_pylist()
    by_round = {(r["run"], r["cell"], r["round"]): r["value"] for r in rows}
    assert by_round
    for (_, _, number), value in by_round.items():
        sent = 1000 - 100 * np.arange(1, 6) + number  # seconds 0 to 4 of the measure phase
        assert value == pytest.approx(np.median(sent[3:5]) / np.median(sent[0:2]))
    later, fast = tables.claims[4], {(m.run, m.cell) for m in measured.question.members if m.name == "fast"}
    assert later["value"] < 0.8
    assert later["n"] == sum((run, cell) in fast for run, cell, _ in by_round) >= 4


def test_windows_of_latencies_are_medians_of_the_worst_group_of_each_second_by_duckdb(
    measured: Measured, tables: StudyTables
) -> None:
    rows = window_figures(measured.gold, measured.question).where("metric like 'publish%'").toArrow().to_pylist()
    with duckdb.connect() as connection:
        for name in ("latency_per_second", "rate_per_second", "executions"):
            connection.register(name, measured.place.lake.dataset(name))
        wanted = connection.sql(
            "WITH worst AS (SELECT run, cell, repeat, second_unix_s, max(p99_ns) AS ns FROM latency_per_second"
            "  WHERE measure = 'publish_latency' AND phase = 'measure' GROUP BY ALL),"
            " began AS (SELECT run, cell, repeat, min(second_unix_s) AS begin_s FROM rate_per_second WHERE phase = 'measure' GROUP BY ALL)"
            " SELECT run, cell, round, median(ns) FILTER (second_unix_s - begin_s BETWEEN 3 AND 4)"
            "  / median(ns) FILTER (second_unix_s - begin_s BETWEEN 0 AND 1)"
            " FROM worst JOIN began USING (run, cell, repeat) JOIN executions USING (run, cell, repeat) WHERE counted"
            " GROUP BY run, cell, repeat, round ORDER BY ALL"
        ).fetchall()
    found = sorted((r["run"], r["cell"], r["round"], r["value"]) for r in rows)
    assert [f[:3] for f in found] == [w[:3] for w in wanted]
    assert [f[3] for f in found] == pytest.approx([w[3] for w in wanted])
    fast = {(m.run, m.cell) for m in measured.question.members if m.name == "fast"}
    values = [w[3] for w in wanted if (w[0], w[1]) in fast]
    slower = tables.claims[5]
    assert (slower["n"], slower["value"]) == (len(values), pytest.approx(np.exp(np.mean(np.log(values)))))


def test_figure_points_are_medians_on_the_axes_of_the_published_ones(measured: Measured, tables: StudyTables) -> None:
    points = [p for p in tables.points if p["figure"] == "6"]
    published = [
        (p["series"], p["x"], p["y"], p["low"], p["high"], p["cell"]) for p in points if p["source"] == "published"
    ]
    assert published == [("study", 100.0, 90.0, 80.0, 95.0, "slow"), ("study", 200.0, None, None, None, "fast")]
    ours = {p["cell"]: p for p in points if p["source"] == "measured"}
    assert {c: (p["series"], p["x"], p["x_text"]) for c, p in ours.items()} == {
        "slow": ("study", 100.0, "100"), "fast": ("study", 200.0, "200"), "other": ("", None, "other"),
    }  # fmt: skip
    for cell, point in ours.items():
        values = [
            v
            for r in measured.place.lake.dataset("run_summary").to_table().to_pylist()
            if r["label"] == cell and r["metric"] == "sent_per_s"
            for v in r["values"]
        ]
        assert (point["y"], point["n"]) == (pytest.approx(np.median(values)), len(values))
        assert point["low"] <= point["y"] <= point["high"]
    line = [(p["x"], p["y"]) for p in tables.points if p["figure"] == "7"]
    assert line == [(float(s), 1000 - 100 * (s + 1) + 1.0) for s in range(1, 4)]  # whole seconds


def test_a_line_of_a_latency_is_that_of_the_worst_group_of_each_second(measured: Measured, tables: StudyTables) -> None:
    first = min((m.run, m.cell) for m in measured.question.members if m.name == "fast")
    rows = [
        r
        for r in measured.place.lake.dataset("latency_per_second").to_table().to_pylist()
        if (r["run"], r["cell"], r["repeat"]) == (*first, 1) and r["measure"] == "publish_latency"
    ]
    worst: dict[int, int] = {}
    for r in rows:
        if r["phase"] == "measure":
            worst[r["second_unix_s"]] = max(worst.get(r["second_unix_s"], 0), r["p99_ns"])
    whole = sorted(worst.items())[1:-1]
    assert len(whole) == 3
    found = [(p["x"], p["y"], p["unit"]) for p in tables.points if p["figure"] == "8"]
    assert found == [(float(s - min(worst)), pytest.approx(ns / 1e6), "ms") for s, ns in whole]


def test_tables_are_kept_until_something_changes(measured: Measured, tables: StudyTables) -> None:
    directory = measured.running.directory
    key = inputs(measured.study, measured.question)
    assert kept_tables(directory, key) == tables
    assert kept_tables(directory, "other") is None
    folder = measured.study.folder
    (folder / "study.yaml").write_text(
        (folder / "study.yaml").read_text().replace("holds: below 1.1", "holds: above 4")
    )
    edited = load_study(folder)
    assert inputs(edited, measured.question) != key


def test_an_edited_range_contradicts_the_same_runs(measured: Measured, tmp_path: Path) -> None:
    text = STUDY.replace("holds: 1.5 to 2.5", "holds: 3 to 4\n    expects: [not_steady]")
    study = load_study(write_study(tmp_path / "edited", text))
    running = RunningStudy(study, "quick", measured.place.runs, FakeLab(tmp_path, truth), SilentListener())
    running.record = measured.running.record
    asked = question(running.plan(None), measured.running.record, measured.place.runs)
    assert [row["verdict"] for row in measured.tables(study, asked).claims] == ["contradicted", "reproduced"]


def test_a_study_that_was_never_run_has_a_verdict_and_a_reason_for_every_claim(
    measured: Measured, tmp_path: Path
) -> None:
    plan = measured.running.plan(None)
    asked = question(plan, None, tmp_path)
    found = measured.tables(None, asked)
    assert {row["verdict"] for row in found.claims} == {"cannot tell"}
    assert all("is not measured yet: `brokerlab study run " in row["reason"] for row in found.claims)
    assert {p["source"] for p in found.points} == {"published"}
