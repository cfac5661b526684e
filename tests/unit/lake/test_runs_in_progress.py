"""A run that is still going has no verdict yet: analyze refuses it, compare and history leave it out."""

from __future__ import annotations

import fcntl
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from brokerlab import lab
from brokerlab.cli.main import cli
from brokerlab.lake.manifest import Entry, Manifest, commit
from brokerlab.lake.store import LocalStore
from brokerlab.lake.survey import FOLLOWED
from brokerlab.results.directory import RunDirectory
from brokerlab.results.run_state import LOCK_FILE, in_progress
from compared_runs import write_measured
from synthetic import make_plan, write_run

RATES = {"c01": {"received_per_s": [1000.0, 1001.0, 999.5, 1000.5]}}
BASE, ENDED, GOING = (f"2026110{n}T120000Z-{name}-aaaaa{n}" for n, name in enumerate(("base", "ended", "going"), 1))


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One run as base, and two tagged `nightly`."""
    monkeypatch.setenv("BROKERLAB_RUNS", str(tmp_path / "runs"))
    write_measured(tmp_path / "runs", BASE, RATES)
    for name in (ENDED, GOING):
        write_measured(tmp_path / "runs", name, RATES, tag="nightly")
    return tmp_path / "runs"


@contextmanager
def going(run: Path) -> Iterator[None]:
    """A runner holds the lock. Its verdict is of the time before it was resumed."""
    with (run / LOCK_FILE).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def said(*args: str, code: int = 0) -> Result:
    result = CliRunner().invoke(cli, list(args))
    assert result.exit_code == code, result.output
    return result


def test_analyze_refuses_it_and_says_how_to_see_it(runs: Path) -> None:
    before = (runs / GOING / "verdict.json").read_bytes()
    with going(runs / GOING):
        refused = said("analyze", GOING, code=2).stderr
    assert f"{GOING} is in progress" in refused
    assert f"brokerlab watch {GOING}" in refused
    assert f"brokerlab lake follow {GOING}" in refused
    assert (runs / GOING / "verdict.json").read_bytes() == before


@pytest.mark.usefixtures("spark")
def test_a_run_whose_process_was_killed_is_analyzed_as_one_that_was_cut_off(tmp_path: Path) -> None:
    plan = make_plan(GOING, cells=1, repeats=2, rate_per_s=100.0, warm_up_s=1.0, measure_s=3.0)
    run = write_run(tmp_path / GOING, plan=plan).directory
    holding = "import fcntl, sys; f = open(sys.argv[1], 'w'); fcntl.flock(f, fcntl.LOCK_EX); print(); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-uc", holding, run.path / LOCK_FILE], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as runner:
        assert runner.stdout is not None
        runner.stdout.readline()
        assert in_progress(run)
        runner.kill()
    assert (run.path / LOCK_FILE).exists()
    assert lab.analyze(run).verdict.run == GOING


def test_compare_leaves_it_out_of_a_tag_and_refuses_it_by_name(runs: Path) -> None:
    with going(runs / GOING):
        text = said("compare", BASE, "nightly").stdout
        assert f"left out: {GOING} (in progress)" in text
        (answer,) = json.loads(said("compare", BASE, "nightly", "--json").stdout)["cells"][0]["answers"]
        assert answer["n_candidate"] == 4, "the values of the run that has ended, and no others"
        for name in (GOING, "last"):
            assert f"{GOING} is in progress" in said("compare", BASE, name, code=2).stderr
    assert "in progress" not in said("compare", BASE, "nightly").stdout


def test_a_tag_of_runs_in_progress_alone_is_refused(runs: Path) -> None:
    with going(runs / GOING), going(runs / ENDED):
        refused = said("compare", BASE, "nightly", code=2).stderr
    assert f"no run tagged 'nightly' has been analyzed: {ENDED} (in progress), {GOING} (in progress)" in refused
    assert "brokerlab watch" in refused


def test_history_leaves_it_out(runs: Path) -> None:
    with going(runs / GOING):
        text = said("history", "received_per_s").stdout
    assert "2 runs" in text
    assert f"left out: {GOING} (in progress)" in text
    assert "3 runs" in said("history", "received_per_s").stdout


def test_what_follow_has_brought_into_a_lake_counts_only_by_its_name(runs: Path, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    for name in (BASE, ENDED, GOING):
        lab.keep_in_lake(RunDirectory(runs / name), lake)

    def followed(manifest: Manifest) -> dict[str, Entry]:
        entry = manifest.runs[GOING]
        return {**manifest.runs, GOING: entry.model_copy(update={"inputs": FOLLOWED + entry.inputs})}

    assert "3 runs" in said("history", "received_per_s", "--lake", str(lake)).stdout
    commit(LocalStore(lake), followed)
    text = said("history", "received_per_s", "--lake", str(lake)).stdout
    assert "2 runs" in text
    assert f"left out: {GOING} (in progress)" in text
    assert f"left out: {GOING} (in progress)" in said("compare", BASE, "nightly", "--lake", str(lake)).stdout
    assert "in progress" not in said("compare", BASE, GOING, "--lake", str(lake)).stdout
