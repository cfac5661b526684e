"""runner: what Ctrl-C leaves behind and says, wherever in a run it comes."""

from __future__ import annotations

from pathlib import Path

import pytest

from brokerlab import runner
from brokerlab.errors import InterruptedRunError
from brokerlab.model.listener import SILENT
from brokerlab.results.directory import run_directories
from synthetic import make_plan


def test_ctrl_c_between_two_executions_says_what_to_do_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setenv("BROKERLAB_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(runner, "_execute_rounds", interrupted)
    with pytest.raises(InterruptedRunError) as caught:
        runner.run(make_plan("20261115T120000-steady-abc123"), tmp_path / "runs", say=SILENT)
    (run,) = run_directories(tmp_path / "runs")
    assert str(run.path) in caught.value.message
    assert caught.value.hint == "the same command continues where this one stopped"
