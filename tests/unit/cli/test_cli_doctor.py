from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from brokerlab.cli.main import cli
from brokerlab.doctor import checks, measurements
from brokerlab.doctor.checks import Finding


def _doctor(monkeypatch: pytest.MonkeyPatch, findings: list[Finding], *args: str) -> tuple[int, str]:
    monkeypatch.setattr(checks, "all_findings", lambda *_: findings)
    result = CliRunner().invoke(cli, ["doctor", *args])
    return result.exit_code, result.stdout


FINE = Finding("clock", "fine", "source tsc")
WARNING = Finding("governor", "warning", "powersave", "sudo cpupower frequency-set -g performance")
MISSING = Finding("java", "missing", "no Java 17 or newer", "brokerlab install kafka")


def test_fine_is_zero_and_a_warning_is_still_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _doctor(monkeypatch, [FINE])[0] == 0
    assert _doctor(monkeypatch, [FINE, WARNING])[0] == 0


def test_something_required_missing_is_three(monkeypatch: pytest.MonkeyPatch) -> None:
    code, out = _doctor(monkeypatch, [FINE, MISSING])
    assert code == 3
    assert "1 required thing is missing" in out


def test_a_problem_line_ends_with_the_command_that_fixes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    _, out = _doctor(monkeypatch, [WARNING, MISSING])
    lines = out.splitlines()
    assert lines[0].endswith("->  sudo cpupower frequency-set -g performance")
    assert lines[1].endswith("->  brokerlab install kafka")


def test_json_says_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    code, out = _doctor(monkeypatch, [FINE, MISSING], "--json")
    said = json.loads(out)
    assert code == 3
    assert said["fine"] is False
    assert said["findings"][1]["fix"] == "brokerlab install kafka"


def test_a_check_that_crashes_is_a_warning_and_the_others_go_on(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def crash() -> list[Finding]:
        raise RuntimeError("what is this machine")

    for name in ("check_java", "check_native", "check_pacing"):
        monkeypatch.setattr(checks, name, lambda: [FINE])
    monkeypatch.setattr(checks, "check_broker", lambda _name: [FINE])
    monkeypatch.setattr(checks, "check_host", crash)
    monkeypatch.delenv("BROKERLAB_TRACEBACK", raising=False)
    findings = checks.all_findings(tmp_path, lambda _text: None)
    assert findings[0].state == "warning"
    assert "what is this machine" in findings[0].text
    assert {"python", "clock", "fsync", "free space", "open files"} <= {f.name for f in findings}
    assert all(f.fix for f in findings if f.state in ("warning", "missing"))


def test_every_real_problem_on_this_machine_names_a_fix(tmp_path: Path) -> None:
    for check in (
        checks.check_host,
        checks.check_clock,
        checks.check_limits,
        checks.check_browser,
        checks.check_native,
    ):
        for finding in check():
            assert finding.fix or finding.state in ("fine", "note"), finding
    for finding in checks.check_disk(tmp_path / "runs" / "not" / "there"):
        assert finding.fix or finding.state == "fine", finding


def test_fsync_is_really_measured_and_leaves_nothing(tmp_path: Path) -> None:
    times = measurements.fsync_times_ns(tmp_path, count=5)
    assert 1 <= len(times) <= 5
    assert all(t > 0 for t in times)
    assert list(tmp_path.iterdir()) == []


def test_sleep_lateness_counts_sleeps_and_is_never_negative() -> None:
    lateness, other_cores = measurements.sleep_lateness_ns(for_s=0.02)
    assert lateness
    assert min(lateness) >= 0
    assert other_cores >= 0


def test_quantile_is_a_sample() -> None:
    values = list(range(1, 101))
    assert measurements.quantile(values, 0.99) == 99
    assert measurements.quantile(values, 0.5) == 50
    assert measurements.quantile([7], 0.99) == 7
