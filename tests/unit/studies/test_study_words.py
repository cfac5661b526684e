"""Studies as their page and the terminal tell them: what was added here, units, ranges, ceilings, figures of the other scale."""

from __future__ import annotations

import json
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from brokerlab import lab
from brokerlab.cli.commands.study import command
from brokerlab.cli.study_text import answer_document, answer_lines, count_line, published_text
from brokerlab.model.environment import Ceilings
from brokerlab.report.study_page import render
from brokerlab.results.directory import RunDirectory, write_json
from brokerlab.studies.answer import Place, StudyAnswer, answer
from brokerlab.studies.load import load_study
from brokerlab.studies.page import axis_text, ceilings_text, page_source
from study_runs import STUDY, FakeLab, write_study

LATENCY = """\
  - id: slow-enough
    says: processing takes a second
    ours: true
    measure: level(slow, end_to_end_latency_p95_ns)
    published: {value: 1_172_000_000, range: [1_000_000_000, 4_730_000_000], where: table 1}
    holds: at least 1_000_000_000
"""


@pytest.fixture
def told(tmp_path: Path) -> StudyAnswer:
    """A study that was not run, with a value put in for the claim about a latency and its only part."""
    study = load_study(write_study(tmp_path / "study", STUDY + LATENCY))
    found = answer(study, "quick", Place(tmp_path / "runs", "", nullcontext))
    measured = {"value": 36_010_309.0, "low": 20_473_085.0, "high": 63_338_882.0, "n": 4}

    def put_in(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [r | measured if r["claim"] == "slow-enough" else r for r in rows]

    tables = replace(found.tables, claims=put_in(found.tables.claims), parts=put_in(found.tables.parts))
    return replace(found, tables=tables)


def test_claims_that_were_added_here_are_called_so_everywhere(told: StudyAnswer, tmp_path: Path) -> None:
    text = "\n".join(answer_lines(told))
    assert "slow-enough (added here): processing takes a second" in text
    assert "twice: fast is twice slow" in text
    document = answer_document(told)
    assert {c["claim"]: c["ours"] for c in document["claims"]} == {"twice": False, "open": False, "slow-enough": True}
    page = render([page_source(told, tmp_path / "page.html")])
    assert "slow-enough, added here" in page
    assert "twice, added here" not in page


def test_latencies_are_told_in_their_unit_with_the_published_range(told: StudyAnswer, tmp_path: Path) -> None:
    text = " ".join("\n".join(answer_lines(told)).split())
    assert "measured 36 ms (20.5 ms to 63.3 ms, n = 4); holds at least 1 s" in text
    assert "published 1.17 s (1 s to 4.73 s; table 1)" in text
    page = render([page_source(told, tmp_path / "page.html")])
    for said in ("36 ms", "20.5 ms to 63.3 ms, n = 4", "at least 1 s", "1.17 s (1 s to 4.73 s)"):
        assert said in page, said
    assert "36,010,309" not in page + text


def test_words_stand_where_the_study_has_no_figure() -> None:
    row = {"published": None, "published_low": None, "published_high": None, "published_text": "orders of magnitude"}
    assert published_text(row | {"published_where": "figure 4"}) == "orders of magnitude (figure 4)"
    assert published_text(row | {"published_text": "", "published_where": ""}) == ""


def test_the_list_counts_what_was_published_and_what_was_added_here(tmp_path: Path) -> None:
    said = CliRunner().invoke(command, ["list", "--runs", str(tmp_path)], standalone_mode=False).stdout.splitlines()
    studies = lab.studies()
    added = sum(c.ours for s in studies for c in s.fields.claims)
    assert said[-1] == count_line(studies) == f"40 published claims and {added} added here"
    shown = CliRunner().invoke(command, ["list", "--json", "--runs", str(tmp_path)], standalone_mode=False).stdout
    assert sum(c["ours"] for s in json.loads(shown) for c in s["claims"]) == added


@pytest.mark.parametrize(
    ("words", "unit", "said"),
    [
        ("MB/s", "MB/s", "MB/s"),
        ("bytes sent", "MB/s", "bytes sent, MB/s"),
        ("messages a second", "1/s", "messages a second"),
        ("µs a message", "µs", "µs a message"),
        ("bytes a message", "B", "bytes a message"),
        ("p99 of publishing", "ms", "p99 of publishing, ms"),
        ("received / sent", "1", "received / sent"),
    ],
)
def test_an_axis_has_its_unit_once(words: str, unit: str, said: str) -> None:
    assert axis_text(words, unit) == said


def ceilings(**given: Any) -> Ceilings:
    known = {
        "measured_unix_s": 1.0, "directory": "/data", "disk_write_bytes_per_s": 500e6, "fsync_p50_ns": 300_000,
        "fsync_p99_ns": 2_000_000, "loopback_bytes_per_s": 3e9, "other_cores": 0.1,
    }  # fmt: skip
    return Ceilings(**{**known, **given})


def test_ceilings_are_told_once_or_as_a_range_over_the_runs() -> None:
    assert ceilings_text([ceilings()]) == (
        "Disk 500 MB/s with an fsync every 8 MiB; fsync of 4 KiB 300 µs (p50), 2 ms (p99); loopback 3,000 MB/s."
        " Measured before the run."
    )
    both = ceilings_text([ceilings(), ceilings(disk_write_bytes_per_s=400e6)])
    assert "Disk 400 MB/s to 500 MB/s with" in both
    assert both.endswith("Measured before each of 2 runs.")


def test_the_page_has_the_ceilings_of_its_runs(told: StudyAnswer, tmp_path: Path) -> None:
    fake = FakeLab(tmp_path / "runs", lambda *_: 1.0)
    run: RunDirectory = fake.run(fake.plan(told.study.folder / "rates.yaml", []))
    without = replace(told, runs=(run,))
    assert "ceilings" not in dict(page_source(without, tmp_path / "page.html").method)
    known = run.environment().model_copy(update={"ceilings": ceilings()})
    write_json(run.path / "environment.json", known.model_dump(mode="json"))
    with_them = replace(told, runs=(RunDirectory(run.path),))
    assert "500 MB/s" in render([page_source(with_them, tmp_path / "page.html")])


def test_a_figure_of_the_other_scale_is_left_out_unless_it_is_always_shown(tmp_path: Path) -> None:
    text = STUDY.replace("x: configured rate}", "x: configured rate, scale: full}")
    for always, shown in ((False, []), (True, ["6"])):
        made = text.replace("scale: full}", f"scale: full, always_shown: {str(always).lower()}}}")
        study = load_study(write_study(tmp_path / str(always), made))
        found = answer(study, "quick", Place(tmp_path / "runs", "", nullcontext))
        source = page_source(found, tmp_path / "page.html")
        assert list(source.figures) == shown
        assert [p["y"] for p in source.points if p["figure"] == "6"] == ([90.0, None] if always else [])
        assert "other" in found.plan.running_cells()  # a claim names it; the figure adds no cell
