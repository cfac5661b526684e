"""A run while it goes, as lines of text."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner

from brokerlab.cli.commands.watch import command
from brokerlab.dashboard.following import FollowedRun
from brokerlab.dashboard.terminal import bars, followed_lines
from brokerlab.results.directory import RunDirectory
from conftest import ANALYZED, MEASURED


def test_a_screen_says_rates_counts_processors_and_the_verdict_so_far(runs: Path) -> None:
    (screen,) = followed_lines(FollowedRun(RunDirectory(runs / MEASURED)))
    text = "\n".join(screen)
    assert "complete, 2 of 2 executions finished" in text
    assert "10,000 in all" in text
    assert "backlog  0 messages" in text
    assert "broker-1" in text
    assert "so far" in text or "would be" in text


def test_watching_a_run_that_is_over_ends_at_once(runs: Path) -> None:
    said = CliRunner().invoke(command, [ANALYZED, "--runs", str(runs)])
    assert said.exit_code == 0
    assert "complete" in said.output


def test_bars_begin_at_zero() -> None:
    assert bars([0, 5, 10]) == "▁▅█"
    assert bars([0, 0]) == "▁▁"
