"""show, list runs, rm, report: what is said about run directories, whole or not."""

from __future__ import annotations

import fcntl
import json
from pathlib import Path
from typing import Any

import pytest
from cli_runs import MISSED, NAME, NOT_DELIVERED, make_run, make_verdict, write_answer
from click.testing import CliRunner, Result

from brokerlab.cli.main import cli
from brokerlab.cli.verdict_text import verdict_lines


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BROKERLAB_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("BROKERLAB_HOME", str(tmp_path / "home"))
    return tmp_path / "runs"


def _brokerlab(*args: str, **more: Any) -> Result:
    return CliRunner().invoke(cli, list(args), **more)


@pytest.mark.usefixtures("runs")
def test_no_runs_is_said_and_is_no_error() -> None:
    assert "no runs yet" in _brokerlab("list", "runs").stdout
    assert json.loads(_brokerlab("list", "runs", "--json").stdout) == []


def test_runs_are_listed_newest_last_with_their_verdict(runs: Path) -> None:
    write_answer(make_run(runs))
    make_run(runs, "20261116T120000-later-ffffff", states={"c01-r1": {"state": "finished"}})
    rows = json.loads(_brokerlab("list", "runs", "--json").stdout)
    assert [(r["run"], r["state"], r["verdict"]) for r in rows] == [
        (NAME, "complete", "valid"),
        ("20261116T120000-later-ffffff", "incomplete", None),
    ]
    lines = _brokerlab("list", "runs").stdout.splitlines()
    assert "complete" in lines[0]
    assert "incomplete (1/4)" in lines[1]
    assert "not analyzed" in lines[1]


def test_a_run_that_cannot_be_read_is_listed_with_the_reason(runs: Path) -> None:
    run = make_run(runs)
    (run.path / "plan.json").write_text("{}")
    [row] = json.loads(_brokerlab("list", "runs", "--json").stdout)
    assert row["state"] == "unreadable"
    assert _brokerlab("list", "runs").exit_code == 0


@pytest.mark.parametrize("name", ["plan.json", "state.json", "verdict.json"])
@pytest.mark.parametrize("damage", ["", "{", "[]", "null", '{"executions": 3}', "\xff", "[" * 100_000])
def test_a_damaged_document_is_named_with_what_to_do(runs: Path, name: str, damage: str) -> None:
    run = make_run(runs)
    write_answer(run)
    (run.path / name).write_bytes(damage.encode("latin-1"))
    said = _brokerlab("show", "last")
    assert said.exit_code == 3
    assert f"{run.path / name} cannot be read: " in said.stderr
    assert "unexpected" not in said.stderr
    assert f"brokerlab {'analyze' if name == 'verdict.json' else 'rm'} {run.name}" in said.stderr


@pytest.mark.parametrize("place", ["/dev/null/runs", "/proc/runs"])
def test_a_place_that_can_hold_no_runs_is_the_users_mistake(place: str) -> None:
    said = _brokerlab("run", "demo", "--broker", "memory", "--runs", place)
    assert said.exit_code == 2
    assert f"runs cannot be kept in {place}: " in said.stderr
    assert "--runs" in said.stderr.splitlines()[-1]


def test_show_puts_the_verdict_before_the_figures(runs: Path) -> None:
    write_answer(make_run(runs))
    out = _brokerlab("show", "last").stdout
    assert out.index("VALID") < out.index("end-to-end")
    assert "complete, 4 of 4 executions finished" in out
    assert "p99 ms" in out
    assert "2.30..2.41" in out
    assert "brokerlab report" in out


def test_show_says_what_is_incomplete_and_why(runs: Path) -> None:
    states = {
        "c01-r1": {"state": "finished"},
        "c02-r1": {"state": "failed", "reason": "kafka-1 ended"},
        "c02-r2": {"state": "running"},
    }
    make_run(runs, states=states)
    out = _brokerlab("show", "abc123").stdout
    assert "incomplete, 1 of 4 executions finished" in out
    assert "kafka-1 ended" in out
    assert "cut off" in out
    assert "not analyzed yet: brokerlab analyze" in out
    shown = json.loads(_brokerlab("show", "abc123", "--json").stdout)
    assert {(e["cell"], e["repeat"]): e["state"] for e in shown["executions"]} == {
        ("c01", 1): "finished", ("c02", 1): "failed", ("c02", 2): "interrupted", ("c01", 2): "waiting",
    }  # fmt: skip
    assert shown["complete"] is False
    assert shown["verdict"] is None


def test_show_of_an_unknown_run_says_how_to_list_them(runs: Path) -> None:
    make_run(runs)
    result = _brokerlab("show", "nothing-like-it")
    assert result.exit_code == 2
    assert "brokerlab list runs" in result.stderr


def test_reasons_objectives_and_broken_promises_are_spelled_out() -> None:
    verdict = make_verdict(
        verdict="invalid", reasons=(NOT_DELIVERED,), objectives=(MISSED,), delivery_violated=True, quarantined=("a.parquet: torn",)
    )  # fmt: skip
    text = "\n".join(verdict_lines(verdict))
    assert "INVALID" in text.splitlines()[0]
    assert "invalid: kafka, repeat 2: 61 % of the target was sent" in text
    assert "objective missed: p99(end_to_end_latency) < 20ms (kafka)" in text
    assert "20,000 sent" in text
    assert "unreadable: a.parquet: torn" in text


def test_reasons_of_one_kind_are_one_line_with_a_count_and_the_worst_case() -> None:
    worse = NOT_DELIVERED.model_copy(
        update={"repeat": 3, "value": 0.2, "limit": 0.99, "text": "20 % of the target was sent"}
    )
    (line,) = [
        x for x in verdict_lines(make_verdict(verdict="invalid", reasons=(NOT_DELIVERED, worse))) if "target" in x
    ]
    assert line == "  invalid: kafka, repeats 2, 3: 20 % of the target was sent (2 times; the worst is shown)"


def test_many_reasons_are_cut_with_a_word_about_the_rest() -> None:
    reasons = tuple(NOT_DELIVERED.model_copy(update={"code": f"code_{n}"}) for n in range(30))
    lines = verdict_lines(make_verdict(verdict="invalid", reasons=reasons))
    assert sum("61 %" in line for line in lines) == 12
    assert any("18 more" in line for line in lines)


def test_cells_of_unlike_durability_are_never_shown_side_by_side_without_a_word() -> None:
    from cli_runs import summary_row

    from brokerlab.cli.verdict_text import summary_lines

    alike = [summary_row("c01", "a", "lost", [0.0]), summary_row("c02", "b", "lost", [0.0])]
    assert not any("promise different things" in line for line in summary_lines(alike))
    unlike = [alike[0], summary_row("c02", "b", "lost", [0.0], durability="L1")]
    assert "promise different things" in summary_lines(unlike)[-1]


def test_a_narrow_terminal_gets_a_block_per_cell() -> None:
    from cli_runs import summary_row

    from brokerlab.cli.verdict_text import summary_lines

    latencies = ("publish_latency_p50_ns", "publish_latency_p99_ns", "end_to_end_latency_p99_ns")
    rows = [summary_row(c, "a broker", m, [8.1e5, 9.9e5, 1.2e6]) for c in ("c01", "c02") for m in latencies]
    rows += [summary_row(c, "a broker", "sent_per_s", [19_998.0, 20_000.0, 20_001.0]) for c in ("c01", "c02")]
    wide = summary_lines(rows)
    assert max(map(len, wide)) > 60
    narrow = summary_lines(rows, width=60)
    assert max(map(len, narrow)) <= 60
    assert "a broker  (L4, n = 3)" in narrow
    assert any(line.split() == ["publish", "p50", "990", "µs", "810..1,200"] for line in narrow)
    assert any(line.split() == ["sent/s", "20,000", "19,998..20,001"] for line in narrow)


@pytest.mark.parametrize("width", [None, 30], ids=["table", "blocks"])
def test_executions_set_aside_stand_beside_n_with_what_that_means(width: int | None) -> None:
    from cli_runs import summary_row

    from brokerlab.cli.verdict_text import summary_lines

    kept = summary_row("c01", "kafka", "sent_per_s", [500.0] * 4)
    spoiled = summary_row("c02", "nats", "sent_per_s", [500.0] * 4, set_aside=1)
    text = "\n".join(summary_lines([kept, spoiled], width))
    assert "4 (+1)" in next(line for line in text.splitlines() if line.startswith("nats"))
    assert "(+" not in next(line for line in text.splitlines() if line.startswith("kafka"))
    assert text.endswith("  (+n): executions set aside and not part of the figures")
    assert "(+" not in "\n".join(summary_lines([kept], width))


@pytest.mark.parametrize(("answer", "mark"), [("invalid", "✕"), ("cannot tell", "?")])
@pytest.mark.parametrize("width", [None, 30], ids=["table", "blocks"])
def test_a_cell_that_is_not_valid_is_marked_and_a_valid_one_is_not(width: int | None, answer: str, mark: str) -> None:
    from cli_runs import summary_row

    from brokerlab.cli.verdict_text import summary_lines

    rows = [summary_row(c, label, "sent_per_s", [500.0] * 4) for c, label in (("c01", "kafka"), ("c02", "nats"))]
    verdict = make_verdict(verdict=answer)
    cells = (*verdict.cells, verdict.cells[0].model_copy(update={"cell": "c02", "label": "nats", "verdict": "valid"}))
    lines = summary_lines(rows, width, verdict.model_copy(update={"cells": cells}))
    marked = [line for line in lines if mark in line]
    assert marked[0].startswith(f"kafka {mark}  ")
    assert marked[1:] == [f"  {mark}: the verdict on this cell is {answer}"]
    assert not any(mark in line for line in summary_lines(rows, width, make_verdict()))


def test_show_marks_cells_as_the_verdict_says(runs: Path) -> None:
    write_answer(make_run(runs), make_verdict(verdict="invalid", reasons=(NOT_DELIVERED,)))
    text = _brokerlab("show", NAME).stdout
    assert "\nkafka ✕" in text
    assert "\nnats  " in text


def test_rm_without_a_terminal_needs_yes(runs: Path) -> None:
    run = make_run(runs)
    result = _brokerlab("rm", NAME)
    assert result.exit_code == 2
    assert "--yes" in result.stderr
    assert run.path.is_dir()
    assert json.loads(_brokerlab("rm", NAME, "--yes", "--json").stdout)["deleted"] == NAME
    assert list(runs.iterdir()) == []


def test_rm_refuses_a_run_in_progress(runs: Path) -> None:
    run = make_run(runs)
    with (run.path / "run.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        result = _brokerlab("rm", NAME, "--yes")
        assert result.exit_code == 3
        assert "in progress" in result.stderr
        assert json.loads(_brokerlab("list", "runs", "--json").stdout)[0]["state"] == "in progress"
    assert run.path.is_dir()
    assert _brokerlab("rm", NAME, "--yes").exit_code == 0


def test_report_of_a_run_without_verdict_says_to_analyze_first(runs: Path) -> None:
    make_run(runs)
    result = _brokerlab("report", NAME)
    assert result.exit_code == 2
    assert f"brokerlab analyze {NAME}" in result.stderr


@pytest.mark.usefixtures("runs")
def test_the_runs_option_beats_the_environment(tmp_path: Path) -> None:
    make_run(tmp_path / "elsewhere")
    rows = json.loads(_brokerlab("list", "runs", "--runs", str(tmp_path / "elsewhere"), "--json").stdout)
    assert len(rows) == 1
