"""Figures are doubted cell by cell, and rates apart from latencies; what holds is shown as such."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from brokerlab.report.page import write_report
from brokerlab.results.directory import RunDirectory, write_json
from brokerlab.results.tables import COMPARISON, LATENCY_PER_PHASE
from synthetic_tables import Story, write_results, write_table

LATE = {"verdict": "invalid", "latencies": "invalid"}
BROKEN = {"verdict": "invalid", "rates": "invalid", "latencies": "invalid"}


def doubted(tmp_path: Path, answers: dict[str, dict[str, Any]], verdict: str = "invalid", **story: Any) -> RunDirectory:
    """A run in which these answers are given on cells, and all others are valid; each comparison says "higher"."""
    run = write_results(tmp_path / "run", Story(**{"cells": 3, "repeats": 4, "measure_s": 4, **story}))
    judged = run.verdict()
    assert judged is not None
    changed = tuple(c.model_copy(update=answers.get(c.cell, {})) for c in judged.cells)
    run.write("verdict.json", judged.model_copy(update={"verdict": verdict, "cells": changed}))
    rows = pq.read_table(run.tables / "comparison" / "part-0.parquet").to_pylist()
    write_table(run.path, COMPARISON, [row | {"answer": "higher", "reason": ""} for row in rows])
    return run


def text_of(html: str) -> str:
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", html))).strip()


def part(run: RunDirectory, begins: str, ends: str) -> str:
    html = write_report(run).read_text()
    return html[html.index(f'id="{begins}"') : html.index(f'id="{ends}"')]


def lines(answer: str) -> dict[str, list[str]]:
    """Heading of each panel -> the labels of its lines, each with the mark beside it."""
    panels = re.split(r'<div class="panel">', answer)[1:]
    names = [
        re.findall(r'<span class="name">(.*?)</span></span>|<span class="name">(.*?)</span><span', p) for p in panels
    ]
    heads = [text_of(re.findall(r"<h3>(.*?)<span", p)[0]) for p in panels]
    return {h: [text_of(a or b) for a, b in found] for h, found in zip(heads, names, strict=True)}


def test_one_invalid_cell_leaves_the_figures_and_comparisons_of_the_others_as_they_are(tmp_path: Path) -> None:
    answer = part(doubted(tmp_path, {"c02": BROKEN}), "answer", "load")
    assert set(lines(answer)) == {"Received rate", "End-to-end latency p99", "Publish latency p99"}
    for labels in lines(answer).values():
        assert labels == ["kafka L4", "nats L4 ✕ invalid", "kafka 3 L4"]
    assert answer.count('<li class="doubted"') == 3
    assert "Figures marked invalid are shown for diagnosis only" in text_of(answer)
    said, folded = text_of(answer).split("6 comparisons with figures that cannot be relied on")
    assert said.count("kafka is higher than kafka 3") == 3
    assert "nats" not in said.split("What can be said about the difference")[1]
    assert folded.count("nats") == 6


def test_rates_hold_where_only_latencies_do_not(tmp_path: Path) -> None:
    answer = part(doubted(tmp_path, {"c02": LATE}, cells=2), "answer", "load")
    found = lines(answer)
    assert found["Received rate"] == ["kafka L4", "nats L4"]
    assert found["Publish latency p99"] == ["kafka L4", "nats L4 ✕ invalid"]
    said, folded = text_of(answer).split("2 comparisons with figures that cannot be relied on")
    assert "Received rate : kafka is higher than nats" in said
    assert "latency p99 : kafka" not in said
    assert folded.count("kafka is higher than nats") == 2


def test_the_meaning_of_a_verdict_speaks_of_what_does_not_hold_only(tmp_path: Path) -> None:
    def meaning(name: str, cells: dict[str, dict[str, Any]], verdict: str = "invalid") -> str:
        html = write_report(doubted(tmp_path / name, cells, verdict, cells=2)).read_text()
        return text_of(re.findall(r'<p class="meaning">(.*?)</p>', html)[0])

    each = "each cell says which of its own hold. The reasons follow."
    assert meaning("one", {"c02": BROKEN}) == f"Not all numbers below can be relied on: {each}"
    assert (
        meaning("both", {"c01": BROKEN, "c02": BROKEN})
        == "Do not rely on the rates and latencies below; the reasons follow."
    )
    lost = {"delivery": "invalid", **BROKEN}
    assert meaning("all", {"c01": lost, "c02": lost}) == "Do not rely on the numbers below; the reasons follow."
    undrained = {"verdict": "cannot tell", "delivery": "cannot tell"}
    unsure = meaning("undrained", {"c01": undrained, "c02": undrained}, "cannot tell")
    assert unsure == "The evidence does not decide whether the delivery holds."
    assert "whether all numbers below hold: each" in meaning("one undrained", {"c01": undrained}, "cannot tell")
    unneeded = {"latencies": "invalid", "needs": ("delivery", "rates")}  # of a closed loop
    assert "relied on, except those that are marked" in meaning("closed", {"c01": unneeded}, "valid")
    assert meaning("valid", {}, "valid") == "The load was real and steady: the numbers can be relied on."


def test_the_headline_table_says_what_holds_of_each_cell_and_greys_the_rest(tmp_path: Path) -> None:
    table = part(doubted(tmp_path, {"c01": LATE, "c02": BROKEN}), "headline", "throughput")
    rows = [r for r in re.findall(r"<tr role=\"row\">(.*?)</tr>", table) if "rowheader" in r][:3]
    said = [text_of(r) for r in rows]
    assert "✕ invalid delivery and rates hold 4" in said[0]
    assert "✕ invalid delivery holds 4" in said[1]
    assert "✓ valid 4" in said[2]
    grey = [re.findall(r'class="num( weak)?" data-label="(?!n")', r) for r in rows]
    assert [g[0] == " weak" for g in grey] == [False, True, False]  # the rate
    assert [g[1] == " weak" for g in grey] == [True, True, False]  # the first latency


def test_a_verdict_of_the_first_version_speaks_for_all_figures_of_a_cell(tmp_path: Path) -> None:
    run = doubted(tmp_path, {"c02": {"verdict": "invalid"}}, cells=2)
    judged = run.verdict()
    assert judged is not None
    write_json(run.verdict_file, judged.model_dump(mode="json") | {"schema_version": 1})
    for labels in lines(part(run, "answer", "load")).values():
        assert labels == ["kafka L4", "nats L4 ✕ invalid"]


def test_where_no_figure_holds_that_is_said_once(tmp_path: Path) -> None:
    answer = text_of(part(doubted(tmp_path, {"c01": BROKEN, "c02": BROKEN}, cells=2), "answer", "load"))
    assert "the verdict above says that these figures cannot be relied on" in answer
    assert "What can be said about the difference" not in answer


def test_without_a_verdict_every_figure_is_for_diagnosis_only(tmp_path: Path) -> None:
    run = doubted(tmp_path, {}, cells=2)
    run.verdict_file.unlink()
    answer = text_of(part(run, "answer", "load"))
    assert "Shown for diagnosis only: there is no verdict on these figures." in answer
    assert "What can be said about the difference" not in answer


def test_the_samples_beside_n_are_those_of_counted_repeats(tmp_path: Path) -> None:
    run = doubted(tmp_path, {}, "valid", cells=1, rate_per_s=300)

    def sizes() -> str:
        found = re.search(r"✓ valid (\d+ × [\d,]+)", text_of(part(run, "headline", "throughput")))
        assert found is not None
        return found[1]

    assert sizes() == "4 × 1,200"
    rows = pq.read_table(run.tables / "latency_per_phase" / "part-0.parquet").to_pylist()
    short = [row | ({"count": 7} if row["repeat"] == 2 else {}) for row in rows]
    write_table(run.path, LATENCY_PER_PHASE, short)
    assert sizes() == "4 × 7"
    write_table(run.path, LATENCY_PER_PHASE, [row | {"counted": row["repeat"] != 2} for row in short])
    assert sizes() == "4 × 1,200"
