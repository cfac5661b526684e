"""A study by its commands, on a real server: stopped by Ctrl-C, killed, run to its end, shown."""

from __future__ import annotations

import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest
from lab import Lab, assert_gone, fingerprint, wait_until

from brokerlab import lab as api
from brokerlab.errors import ExitCode
from brokerlab.results.directory import run_directories
from brokerlab.studies.template import write_template

GONE_S = 30.0
SHORT = (("phases: {warm_up: 1s, measure: 5s}", "phases: {warm_up: 1s, measure: 2s}"), ("most: 8", "most: 4"))


@dataclass
class Ended:
    """A study of two cells with four repeats that was stopped, killed and then run to its end."""

    lab: Lab
    folder: Path
    said: dict[str, subprocess.CompletedProcess[str] | str]
    survivors: list[psutil.Process]
    kept: dict[str, dict[str, tuple[int, int]]]  # evidence of executions that had ended before the kill


def ended_executions(lab: Lab) -> list[str]:
    found = run_directories(lab.runs)
    return [e for e, state in found[0].state().executions.items() if state.state == "finished"] if found else []


def cut_off(lab: Lab, folder: Path, after: int, number: signal.Signals) -> tuple[str, int, list[psutil.Process]]:
    """Run the study until so many executions have ended and another one runs; then send the signal."""
    with lab.started("study", "run", folder) as runner:

        def in_the_middle() -> list[psutil.Process]:
            if runner.poll() is not None:
                raise AssertionError(f"the study ended with {runner.returncode}: {runner.communicate()}")
            ended = len(ended_executions(lab)) >= after
            return psutil.Process(runner.pid).children(recursive=True) if ended else []

        processes: list[psutil.Process] = wait_until(f"{after} executions and a process", in_the_middle)
        runner.send_signal(number)
        said = runner.communicate(timeout=120)[1]
        return said, runner.returncode, processes


@pytest.fixture(scope="module")
def ended(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Ended:
    path = tmp_path_factory.mktemp("study")
    lab, folder = Lab(home, path / "runs"), path / "blog-post"
    assert lab.call("study", "init", folder).returncode == 0
    file = folder / "study.yaml"
    text = file.read_text()
    for old, new in SHORT:
        assert old in text
        text = text.replace(old, new)
    file.write_text(text)
    interrupted, code, first = cut_off(lab, folder, 1, signal.SIGINT)
    assert code == 130, interrupted
    _, code, second = cut_off(lab, folder, 3, signal.SIGKILL)
    assert code == -signal.SIGKILL
    assert_gone([*first, *second], GONE_S)
    (run,) = run_directories(lab.runs)
    kept = {e: fingerprint(run.path / "evidence" / e) for e in ended_executions(lab)}
    said = {"interrupted": interrupted, "run": lab.call("study", "run", folder)}
    return Ended(lab, folder, said, [*first, *second], kept)


def test_a_study_cut_off_twice_goes_on_where_it_was(ended: Ended) -> None:
    assert "the same command continues" in str(ended.said["interrupted"])
    said = ended.said["run"]
    assert isinstance(said, subprocess.CompletedProcess)
    assert said.returncode == 0, said.stderr
    assert "going on with" in said.stderr
    (run,) = run_directories(ended.lab.runs)
    assert len(ended_executions(ended.lab)) >= 8
    assert len(ended.kept) >= 3
    for execution, before in ended.kept.items():
        assert fingerprint(run.path / "evidence" / execution) == before


def test_every_claim_has_a_verdict_and_a_reason(ended: Ended) -> None:
    (shown,) = ended.lab.json("study", "show", ended.folder)
    claims: list[dict[str, Any]] = shown["claims"]
    assert [c["claim"] for c in claims] == ["twice-as-much", "keeps-up"]
    (run,) = run_directories(ended.lab.runs)
    for claim in claims:
        assert claim["verdict"] in shown["counts"]
        assert claim["reason"]
        assert claim["runs"] == [run.name]
    assert claims[0]["published"] == 2.0
    assert len(claims[1]["parts"]) == 3
    assert Path(shown["page"]).is_file()
    text = ended.lab.call("study", "show", ended.folder).stdout
    for claim in claims:
        assert f"{claim['verdict']}  {claim['claim']}: {claim['says']}" in text


def test_the_same_command_does_nothing_more(ended: Ended) -> None:
    (run,) = run_directories(ended.lab.runs)
    before = fingerprint(run.path / "evidence")
    assert ended.lab.call("study", "run", ended.folder).returncode == 0
    assert fingerprint(run.path / "evidence") == before
    assert len(run_directories(ended.lab.runs)) == 1


def edited(ended: Ended, old: str, new: str) -> dict[str, Any]:
    """The first claim as it is shown with a change in study.yaml."""
    file = ended.folder / "study.yaml"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))
    try:
        (shown,) = ended.lab.json("study", "show", ended.folder)
    finally:
        file.write_text(text)
    claim: dict[str, Any] = shown["claims"][0]
    assert claim["runs"] == [run_directories(ended.lab.runs)[0].name]
    return claim


def test_a_changed_range_contradicts_and_a_changed_published_value_changes_no_verdict(ended: Ended) -> None:
    (shown,) = ended.lab.json("study", "show", ended.folder)
    before = shown["claims"][0]
    other = edited(ended, "value: 2.0", "value: 7.0")
    assert (other["published"], other["verdict"], other["reason"]) == (7.0, before["verdict"], before["reason"])
    # What stops a claim on a busy machine stops it with any range; an interval decides otherwise.
    stopped = "do not hold" in before["reason"]
    outside = edited(ended, "holds: 1.9 to 2.1", "holds: 3.9 to 4.1")
    assert outside["holds"] == "3.9 to 4.1"
    assert outside["verdict"] == (before["verdict"] if stopped else "contradicted")


def test_mistakes_are_named_with_file_field_and_nearest_name(ended: Ended) -> None:
    said = ended.lab.call("study", "run", ended.folder, "--only", "twice-as-muhc")
    assert (said.returncode, said.stdout) == (2, "")
    assert "did you mean 'twice-as-much'?" in said.stderr
    said = ended.lab.call("study", "plan", "kafka-2012")
    assert said.returncode == 2
    assert "kafka-2011" in said.stderr
    file = ended.folder / "study.yaml"
    text = file.read_text()
    file.write_text(text.replace("measure: ratio(fast,", "measure: ratio(fats,"))
    try:
        said = ended.lab.call("study", "plan", ended.folder)
    finally:
        file.write_text(text)
    assert said.returncode == 2
    assert "study.yaml" in said.stderr
    assert "claims[0].measure" in said.stderr
    assert "fast" in said.stderr
    assert "Traceback" not in said.stderr


CLAIMS_OF_THE_STUDIES = {"hpi": 9, "k11": 6, "mq": 11, "sn": 10, "ibm": 4}  # as published; ours come on top


def test_all_studies_have_a_verdict_and_a_reason_for_every_claim_before_any_is_run(home: Path, tmp_path: Path) -> None:
    lab = Lab(home, tmp_path / "runs")
    shown = lab.json("study", "show", "all")
    assert [s["study"] for s in shown] == ["hpi-2020", "ibm-2019", "kafka-2011", "mqperf-2021", "streamnative-2020"]
    claims = [c for s in shown for c in s["claims"]]
    for prefix, count in CLAIMS_OF_THE_STUDIES.items():
        assert sum(c["claim"].startswith(f"{prefix}-") for c in claims) >= count
    for claim in claims:
        assert claim["verdict"] in ("cannot tell", "not runnable here")
        assert claim["reason"]
        if claim["verdict"] == "cannot tell":
            assert "is not measured yet: `brokerlab study run " in claim["reason"]
    plan = lab.call("study", "plan", "all").stdout.splitlines()
    assert plan[-1].startswith("5 studies: about ")
    assert plan[-1].endswith(f" of {len(claims)} claims can be answered here")
    page = Path(lab.call("study", "report", "all").stdout.removeprefix("page: ").strip())
    text = page.read_text()
    assert all(claim["claim"] in text for claim in claims)


def test_one_study_that_cannot_be_run_leaves_the_other_and_the_page_of_both(tmp_path: Path) -> None:
    folders = [tmp_path / "first", tmp_path / "second"]
    for folder in folders:
        write_template(folder)
        file = folder / "study.yaml"
        text = file.read_text()
        for old, new in (("phases: {warm_up: 1s, measure: 5s}", "phases: {warm_up: 0s, measure: 1s}"), SHORT[1]):
            assert old in text
            text = text.replace(old, new)
        file.write_text(text)
    (first,), (second,) = (api.studies(str(folder)) for folder in folders)
    (folders[0] / "rates.yaml").unlink()  # after it was checked
    found = api.run_studies([first, second], tmp_path / "runs")
    assert list(found.errors) == ["first"]
    assert found.exit_code == ExitCode.USER
    (answer,) = found.answers
    assert (answer.study.name, len(answer.runs)) == ("second", 1)
    assert all(row["verdict"] and row["reason"] for row in answer.tables.claims)
    assert found.page is not None
    assert "twice-as-much" in found.page.read_text()
