"""`python -m benchmarks verdicts`: what counts as valid, and as named."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
from benchmarks import verdicts

from brokerlab.results.verdict import Verdict

CASES = {case.name: case for case in verdicts.CASES}


def verdict(counts: dict[str, int], *, violated: bool) -> Verdict:
    return Verdict(
        run="r", verdict="valid", complete=True, headline="", reasons=(), delivery=counts, delivery_violated=violated,
        objectives=(), cells=(), quarantined=(),
    )  # fmt: skip


@pytest.mark.parametrize(("name", "count", "violates"), [("loss", "lost", True), ("duplication", "duplicated", False)])
def test_an_error_in_the_table_is_named_only_if_the_verdict_says_the_same(
    name: str, count: str, violates: bool
) -> None:
    rows = [{count: n, "drained": True} for n in (3, 0, 4)]

    def named(counts: dict[str, int], *, violated: bool) -> int:
        return verdicts.named_by_counts(CASES[name], verdict(counts, violated=violated), rows)

    assert named({count: 7}, violated=violates) == 2
    assert named({count: 7}, violated=not violates) == 0
    assert named({count: 6}, violated=violates) == 0
    assert named({}, violated=violates) == 0


def test_a_demo_that_makes_no_run_is_not_valid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(command: list[str], **_: Any) -> CompletedProcess[bytes]:
        return CompletedProcess(command, 3)

    monkeypatch.setattr(verdicts, "programs", lambda *_: nullcontext())
    monkeypatch.setattr(verdicts.subprocess, "run", fails)
    said = verdicts.demos(tmp_path, 2)
    assert "| 2 | **no verdict**: exit code 3 |" in said
    assert said.endswith("\n0 of 2 valid.\n")


def test_runs_are_kept_where_asked_and_never_among_other_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    where: list[Path] = []
    monkeypatch.setattr(verdicts, "demos", lambda directory, _rounds: where.append(directory) or "")
    verdicts.main(["--only", "demos", "--keep", str(tmp_path / "kept")])
    assert where == [tmp_path / "kept" / "demos"]
    (tmp_path / "other").write_text("")
    with pytest.raises(SystemExit):
        verdicts.main(["--only", "demos", "--keep", str(tmp_path)])
    assert "--keep must be an empty or a new directory" in capsys.readouterr().err
