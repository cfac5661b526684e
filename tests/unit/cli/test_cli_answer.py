"""What is printed when a run has been analyzed, and that the exit code is the verdict's."""

from __future__ import annotations

import json
import re
from pathlib import Path

import click
import pytest
from cli_runs import MISSED, NOT_DELIVERED, make_run, make_verdict, write_answer

from brokerlab.cli import main as front
from brokerlab.cli.answer import print_answer
from brokerlab.cli.verdict_text import verdict_lines
from brokerlab.lab import Answer
from brokerlab.results.verdict import Verdict

DOCUMENT = Path(__file__).parents[3] / "docs" / "running.md"


@pytest.mark.parametrize(
    ("verdict", "code"),
    [
        (make_verdict(), 0),
        (make_verdict(verdict="cannot tell"), 0),
        (make_verdict(verdict="invalid", reasons=(NOT_DELIVERED,)), 5),
        (make_verdict(delivery_violated=True), 6),
        (make_verdict(verdict="invalid", delivery_violated=True), 6),
        (make_verdict(objectives=(MISSED,)), 7),
    ],
    ids=["valid", "cannot tell", "invalid", "violated", "violated and invalid", "missed"],
)
def test_the_exit_code_is_the_verdicts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], verdict: Verdict, code: int
) -> None:
    run = make_run(tmp_path)
    write_answer(run, verdict)
    answer = Answer(run, verdict, run.report_file)
    assert print_answer(answer, as_json=False) == code
    lines = click.unstyle(capsys.readouterr().out).splitlines()
    assert lines[0].strip().startswith(verdict.verdict.upper())
    assert verdict.headline in lines[0]
    assert any(line.startswith("kafka ✕ ") for line in lines) == (verdict.verdict == "invalid")
    assert f"report: {run.report_file}" in lines
    assert print_answer(answer, as_json=True) == code
    assert json.loads(capsys.readouterr().out)["exit_code"] == code


@pytest.mark.parametrize(
    ("headline", "said"),
    [
        ("Invalid: the agent itself was late", "The agent itself was late"),
        ("Invalid: p99(end_to_end_latency) falls", "p99(end_to_end_latency) falls"),
        ("Invalid: 3 nodes died", "3 nodes died"),
        ("Invalid: kafka: the agents were late", "kafka: the agents were late"),
    ],
)
def test_the_headline_is_a_sentence_and_names_stay_as_they_are(headline: str, said: str) -> None:
    first = verdict_lines(make_verdict(verdict="invalid", headline=headline))[0]
    assert click.unstyle(first).strip() == f"INVALID  {said}"


def test_the_document_names_every_command_exit_code_and_shared_option() -> None:
    text = DOCUMENT.read_text()
    for name in front.COMMANDS:
        assert re.search(rf"^\| `{name}\b", text, re.MULTILINE), name
    from brokerlab.errors import ExitCode

    for code in ExitCode:
        assert re.search(rf"^\| {int(code)} \|", text, re.MULTILINE), code
    for option in ("--set", "--broker", "--repeats", "--tag", "--endpoint", "--fresh", "--runs"):
        assert option in text
