"""The page as text: what it says, in which order, and what it does when parts are missing."""

from __future__ import annotations

import re
import shutil
from html import unescape
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from brokerlab.model.environment import Ceilings, ExecutionEnvironment
from brokerlab.model.plan import CellPlan, LeftOut, SchedulePlan, Security
from brokerlab.model.state import ExecutionState, RunState
from brokerlab.report import page
from brokerlab.report.markup import script_json
from brokerlab.report.page import render, write_report
from brokerlab.report.sections.load import target_rate
from brokerlab.report.source import read_source
from brokerlab.results.directory import RunDirectory
from brokerlab.results.tables import COMPARISON, RESULT_TABLES
from brokerlab.results.verdict import Reason
from synthetic_tables import Story, story_plan, write_results, write_table

SHORT = Story(repeats=2, measure_s=4, warm_up_s=1, rate_per_s=300)


def words(html: str) -> str:
    """The text a reader sees, without styles, scripts and tags."""
    bare = re.sub(r"<(script|style|title)\b.*?</\1>", "", html, flags=re.DOTALL)
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", bare))).strip()


def report(tmp_path: Path, story: Story = SHORT) -> str:
    return write_report(write_results(tmp_path / "run", story)).read_text()


def test_the_verdict_is_the_first_thing_read_and_parts_follow_in_order(tmp_path: Path) -> None:
    html = report(tmp_path)
    assert words(html).startswith("✓ Valid kafka and nats both held")
    parts = re.findall(r'<(?:header|section) id="([a-z]+)"', html)
    assert parts == [
        "verdict", "answer", "load", "headline", "throughput", "spectrum", "heat", "delivery", "cost", "limits",
        "environment", "method", "raw",
    ]  # fmt: skip


def test_the_cost_of_a_message_is_told_with_what_is_not_known_of_it(tmp_path: Path) -> None:
    text = words(report(tmp_path)).split("Cost per message")[1].split("What limited it")[0]
    assert "kafka 214 µs 210 µs – 217 µs – –" in text
    assert "stored: the data directories were not read (kafka, nats)" in text
    assert 'href="#cost"' in report(tmp_path / "again")


def test_every_repeat_is_told_by_itself_with_its_variation(tmp_path: Path) -> None:
    text = words(report(tmp_path)).split("By repeat, with the busiest second")[1].split("Throughput over time")[0]
    assert "kafka repeat 1 300/s 0.0123" in text
    assert "nats repeat 2 300/s 0.0123" in text


def test_reasons_stand_with_their_numbers_grouped_by_weight(tmp_path: Path) -> None:
    reasons = (
        Reason(code="send_delay", weight="note", cell="c01", repeat=1, text="a mere note"),
        Reason(code="noisy_neighbour", weight="cannot tell", cell="c02", repeat=1, text="0.41 foreign cores"),
        Reason(code="load_not_delivered", weight="invalid", cell="c01", repeat=2, text="sent 61.2 % of what was due"),
    )
    text = words(report(tmp_path, Story(repeats=2, measure_s=4, verdict="invalid", reasons=reasons)))
    assert text.startswith("✕ Invalid")
    order = [
        "Why it is invalid",
        "kafka, repeat 2 sent 61.2 %",
        "What cannot be said",
        "0.41 foreign cores",
        "Notes, without effect on the verdict: 1",
        "a mere note",
    ]
    places = [text.index(o) for o in order]
    assert places == sorted(places)
    assert "Figures marked invalid are shown for diagnosis only: the verdict above says why." in text  # the rates


def test_a_name_full_of_markup_stays_text(tmp_path: Path) -> None:
    evil = "<script>alert(1)</script><img src=x onerror=alert(2)>"
    html = report(tmp_path, Story(repeats=2, measure_s=4, labels=(evil, "nats")))
    assert evil not in html
    assert "<script>alert" not in html
    assert "<img" not in html
    assert evil in words(html)


def test_the_page_without_its_data_is_at_most_400_kilobytes_and_may_fetch_nothing(tmp_path: Path) -> None:
    html = report(tmp_path)
    bare = re.sub(r'<script type="application/json".*?</script>', "", html, flags=re.DOTALL)
    assert len(bare) < len(html)
    assert len(bare.encode()) <= 400_000
    assert "default-src &#x27;none&#x27;" in html
    assert not re.search(r'(?:src|href)="(?!#)', bare)


def test_unlike_durability_levels_stand_in_groups_with_a_warning(tmp_path: Path) -> None:
    text = words(report(tmp_path, Story(repeats=2, measure_s=4, levels=("L4", "L1"))))
    assert "An acknowledgement promises different things" in text
    headline = text[text.index("Headline figures") :]
    assert (
        headline.index("L1: replicated and fsynced")
        < headline.index("nats")
        < headline.index("L4: neither")
        < headline.index("kafka")
    )


def test_the_answer_draws_unlike_levels_in_groups_and_says_that_levels_are_not_ranked_together(tmp_path: Path) -> None:
    html = report(tmp_path, Story(cells=4, repeats=5, measure_s=4, levels=("L4", "L1")))
    answer = words(html[html.index('id="answer"') : html.index('id="load"')])
    assert "not ranked together" in answer
    assert answer.index("L1: replicated and fsynced") < answer.index("nats") < answer.index("L4: neither")
    said, across = answer.split("comparisons across durability levels, not a ranking")
    assert "different durability" not in said  # at none of the comparisons within a level
    assert "What can be said about the difference" in said
    assert across.count("different durability") == 12  # two cells of each level, three measures


def test_each_answer_about_a_difference_is_a_sentence_with_its_interval(tmp_path: Path) -> None:
    run = write_results(tmp_path / "run", Story(repeats=4, measure_s=4))
    rows = pq.read_table(tmp_path / "run/tables/comparison/part-0.parquet").to_pylist()
    few = {
        "answer": "cannot tell",
        "low": None,
        "high": None,
        "pairs": 1,
        "reason": "repeats that both have: 1, needed: 4",
    }
    for row, said in zip(rows, [{"answer": "higher", "low": 1.5, "high": 2.5}, {"answer": "same"}, few], strict=True):
        row |= {"ratio": 2.0, "reason": ""} | said
    write_table(tmp_path / "run", COMPARISON, rows)
    answer = words(write_report(run).read_text())
    assert "kafka is higher than nats 2.00× [1.50×, 2.50×], 4 pairs of repeats" in answer
    assert "kafka and nats are the same within 5 %" in answer
    assert "kafka and nats: cannot tell, repeats that both have: 1, needed: 4 2.00×, 1 pair of repeats" in answer


def test_comparisons_of_the_first_version_are_shown(tmp_path: Path) -> None:
    run = write_results(tmp_path / "run", Story(repeats=4, measure_s=4))
    file = tmp_path / "run/tables/comparison/part-0.parquet"
    old = pq.read_table(file).drop_columns(["pairs", "chance", "smallest_difference", "reason"])
    old = old.set_column(old.column_names.index("answer"), "answer", [["cannot tell"] * old.num_rows])
    pq.write_table(
        old.replace_schema_metadata({b"brokerlab.table": b"comparison", b"brokerlab.schema_version": b"1"}), file
    )
    answer = words(write_report(run).read_text())
    assert "kafka and nats: cannot tell" in answer
    assert "4 pairs of repeats" in answer


def test_brokers_left_out_are_named_with_the_reason(tmp_path: Path) -> None:
    run = write_results(tmp_path / "run", SHORT)
    assert "Left out" not in words(write_report(run).read_text())
    plan = run.plan().model_copy(update={"left_out": (LeftOut(broker="redis", reason="runs with 1 node here"),)})
    run.write("plan.json", plan)
    assert "Left out of this comparison: redis : runs with 1 node here" in words(write_report(run).read_text())


def secured(run: RunDirectory, *asked: Security | None) -> str:
    """The report's words with this security asked of the cells."""
    plan = run.plan()
    cells = tuple(c.model_copy(update={"security": s}) for c, s in zip(plan.cells, asked, strict=True))
    run.write("plan.json", plan.model_copy(update={"cells": cells}))
    return words(write_report(run).read_text())


def test_security_is_named_where_it_ran_and_beside_cells_that_differ_in_it(tmp_path: Path) -> None:
    run = write_results(tmp_path / "run", SHORT)
    both = Security(tls=True, user="lab", password="env:LAB_PASSWORD")
    alike = secured(run, both, both)
    assert alike.count("security TLS and password") == 2
    assert "security: TLS and password" not in alike
    unlike = secured(run, both, None)
    assert "L4 as declared; security: TLS and password" in unlike
    assert "L4 as declared; security: none" in unlike
    assert "LAB_PASSWORD" not in unlike
    bare = secured(run, Security(user="lab", password="env:LAB_PASSWORD"), None)
    assert "password without TLS (sent unencrypted)" in bare


def test_ceilings_and_kept_clusters_are_shown_where_there_are_any(tmp_path: Path) -> None:
    run = write_results(tmp_path / "run", SHORT)
    assert "Ceilings" not in words(write_report(run).read_text())
    known = run.environment()
    ceilings = Ceilings(
        measured_unix_s=1.0, directory="/data", disk_write_bytes_per_s=412.4e6, fsync_p50_ns=900_000,
        fsync_p99_ns=2_100_000, loopback_bytes_per_s=3.1e9, other_cores=0.05,
    )  # fmt: skip
    executions = {str(i): ExecutionEnvironment(cluster_of="c01-r1", cluster_executions=i) for i in (1, 2)}
    facts = known.cell("c01").model_copy(update={"executions": executions})
    run.write("environment.json", known.with_cell("c01", facts).model_copy(update={"ceilings": ceilings}))
    said = words(write_report(run).read_text())
    assert "disk write 412 MB/s, fsynced every 8 MiB" in said
    assert "p99 2.10 ms" in said
    assert "loopback 3,100 MB/s over one TCP connection" in said
    assert "cluster kept: 1 of 2 executions followed another one on it" in said


def test_like_durability_levels_need_no_warning(tmp_path: Path) -> None:
    assert "promise different" not in words(report(tmp_path))


def test_quantiles_of_too_few_samples_are_greyed_and_say_so(tmp_path: Path) -> None:
    few = report(tmp_path, Story(repeats=2, measure_s=4, rate_per_s=100))  # 400 samples: enough for p99, not for p99.9
    cells = re.findall(r'<td role="cell" class="num( weak)?" data-label="(Publish|End-to-end) (p[\d.]+)"', few)
    assert {(q, bool(weak)) for weak, _, q in cells} == {("p50", False), ("p99", False), ("p99.9", True)}
    assert "too few samples" in words(few)


def test_lost_messages_are_counted_and_named(tmp_path: Path) -> None:
    text = words(report(tmp_path, Story(repeats=2, measure_s=4, lost=5)))
    assert text.startswith("✓ Valid ✕ Delivery violated")
    assert "it found a violation" in text
    assert "✕ violated 20 lost." in text  # 5 in each of 2 cells x 2 repeats
    assert "4 lost ranges" in text


def test_an_incomplete_drain_is_no_proof_of_delivery(tmp_path: Path) -> None:
    text = words(report(tmp_path, Story(repeats=2, measure_s=4, drained=False, verdict="cannot tell")))
    assert "Delivery: cannot tell, a drain was incomplete" in text
    assert "4 of 4 drains were incomplete" in text
    assert "Delivery kept" not in text


@pytest.mark.parametrize("gone", sorted(RESULT_TABLES))
def test_each_missing_table_is_named_and_the_report_is_made_all_the_same(tmp_path: Path, gone: str) -> None:
    run = write_results(tmp_path / "run", SHORT)
    shutil.rmtree(run.tables / gone)
    text = words(write_report(run).read_text())
    assert f"Missing tables: {gone}." in text


def test_a_run_that_was_never_analyzed_says_so_first(tmp_path: Path) -> None:
    run = write_results(tmp_path / "run", SHORT)
    shutil.rmtree(run.tables)
    run.verdict_file.unlink()
    cut_off = ExecutionState(state="interrupted", reason="Ctrl-C")
    run.write("state.json", RunState(executions={"c01-r1": cut_off}))
    text = words(write_report(run).read_text())
    assert text.startswith("? Not analyzed There is no verdict yet")
    assert "brokerlab analyze run" in text
    assert "c01-r1 is interrupted: Ctrl-C" in text
    assert "No chart: the table rate_per_second is missing or empty." in text


def test_a_directory_with_nothing_readable_still_gives_a_page(tmp_path: Path) -> None:
    directory = tmp_path / "run"
    directory.mkdir()
    for name in ("plan.json", "environment.json", "state.json", "verdict.json"):
        (directory / name).write_text("{ broken")
    (directory / "tables" / "delivery").mkdir(parents=True)
    (directory / "tables" / "delivery" / "part-0.parquet").write_bytes(b"not parquet")
    text = words(write_report(RunDirectory(directory)).read_text())
    for part in ("plan.json", "environment.json", "state.json", "verdict.json", "table delivery"):
        assert f"{part} cannot be read" in text


def test_a_failed_write_leaves_the_earlier_report_and_nothing_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = write_results(tmp_path / "run", SHORT)
    run.report_file.write_text("earlier")

    def full(_fd: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(page.os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_report(run)
    assert run.report_file.read_text() == "earlier"
    assert [p.name for p in run.path.iterdir() if "report" in p.name] == ["report.html"]


def test_the_same_run_gives_the_same_page(tmp_path: Path) -> None:
    run = write_results(tmp_path / "run", SHORT)
    assert render(read_source(run)) == render(read_source(run))


def test_many_cells_are_announced(tmp_path: Path) -> None:
    text = words(report(tmp_path, Story(cells=26, repeats=1, measure_s=2, warm_up_s=1, rate_per_s=20)))
    assert "The first 16 of 26 cells are drawn" in text
    assert "There are charts for the first 24 of 26 cells." in text
    assert "holds the rows of the first 24 of 26 cells" in text


def test_a_report_of_not_a_number_has_no_invalid_json() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        script_json("data", float("nan"))


def _cell(schedule: SchedulePlan) -> CellPlan:
    cell = story_plan("run", Story(warm_up_s=10, measure_s=30)).cells[0]
    return cell.model_copy(update={"producers": cell.producers.model_copy(update={"schedule": schedule, "count": 2})})


@pytest.mark.parametrize(
    ("schedule", "rate"),
    [
        (SchedulePlan(arrival="uniform", rate_per_s=100), 200.0),
        (SchedulePlan(arrival="poisson", rate_per_s=100), 200.0),
        (SchedulePlan(arrival="burst", rate_per_s=100, burst_rate_per_s=500, burst_s=1, burst_every_s=4), 400.0),
        (
            SchedulePlan(arrival="ramp", rate_per_s=0, ramp_to_rate_per_s=400),
            500.0,
        ),  # 400/s in 40 s; middle of measure: 25 s
        (SchedulePlan(arrival="closed", window=100), None),
    ],
)
def test_the_target_is_what_all_producers_were_asked_for_in_the_measure_phase(
    schedule: SchedulePlan, rate: float | None
) -> None:
    assert target_rate(_cell(schedule)) == rate
