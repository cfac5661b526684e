"""history: which runs belong together, what changed, what is shown apart, and what is refused."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from brokerlab.cli.main import cli
from brokerlab.model.environment import CellEnvironment
from compared_runs import write_measured

P99 = "end_to_end_latency_p99_ns"


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BROKERLAB_RUNS", str(tmp_path / "runs"))
    return tmp_path / "runs"


def _history(*args: str, code: int = 0) -> Result:
    result = CliRunner().invoke(cli, ["history", *args])
    assert result.exit_code == code, result.output
    return result


def _series(*args: str) -> list[dict[str, Any]]:
    series: list[dict[str, Any]] = json.loads(_history(*args, "--json").stdout)["series"]
    return series


def _name(day: int) -> str:
    return f"202611{day:02d}T060000Z-nightly-{day:06x}"


def _nightly(
    runs: Path, level: Callable[[int], float], days: Sequence[int] = range(1, 21), **of_day: Callable[[int], Any]
) -> None:
    """One run a day of one cell; `of_day` makes further arguments of write_measured from the day."""
    rng = np.random.default_rng(11)
    for day in days:
        values = (level(day) * np.exp(rng.normal(0, 0.02, 5))).tolist()
        more = {name: make(day) for name, make in of_day.items()}
        write_measured(runs, _name(day), {"c01": {P99: values}}, **more)


def _version(day: int) -> dict[str, CellEnvironment]:
    return {"c01": CellEnvironment(version="4.2.0" if day < 11 else "4.3.1")}


def test_a_step_is_found_with_the_version_that_came_with_it(runs: Path) -> None:
    _nightly(runs, lambda day: 2e6 if day < 11 else 2.6e6, facts=_version)
    (series,) = _series(P99)
    (change,) = series["changes"]
    assert (change["run"], change["before"], change["answer"]) == (_name(11), _name(10), "worse")
    assert change["ratio"] == pytest.approx(1.3, rel=0.03)
    assert [(u["what"], u["base"], u["candidate"]) for u in change["changed"]] == [("kafka version", "4.2.0", "4.3.1")]
    text = _history(P99).stdout
    assert "worse: 1.3" in text
    assert "changed: kafka version: 4.2.0 → 4.3.1" in text
    (line,) = [part for part in text.splitlines() if "│" in part]
    assert line.strip().split()[0].index("│") == 10


def test_settings_and_host_are_named_too(runs: Path) -> None:
    def facts(day: int) -> dict[str, CellEnvironment]:
        threads = "8" if day < 9 else "16"
        return {"c01": CellEnvironment(effective_settings={"server": {"num.io.threads": threads, "dir": f"/x/{day}"}})}

    _nightly(
        runs, lambda day: 3e6 if day < 9 else 2e6, facts=facts, host=lambda day: "old" if day < 9 else "new",
        plans=lambda day: {"c01": {"broker_settings": {"num.io.threads": "8" if day < 9 else "16"}}},
    )  # fmt: skip
    (change,) = _series(P99)[0]["changes"]
    assert change["answer"] == "better"
    named = {u["what"]: u["candidate"] for u in change["changed"]}
    assert named.pop("host").startswith("new")
    assert named == {"broker_settings.num.io.threads": "16", "setting server.num.io.threads": "16"}


def test_where_nothing_changed_the_nearest_change_is_named(runs: Path) -> None:
    _nightly(
        runs, lambda day: 2e6 if day < 11 else 2.6e6,
        facts=lambda day: {"c01": CellEnvironment(version="1" if day < 10 else "2")},
    )  # fmt: skip
    (change,) = _series(P99)[0]["changes"]
    assert change["changed"] == []
    assert [(run, u["candidate"]) for run, u in change["nearby"]] == [(_name(10), "2")]
    assert f"but in {_name(10)}: kafka version: 1 → 2" in _history(P99).stdout


def test_where_neither_way_is_better_the_direction_is_named(runs: Path) -> None:
    for day in range(1, 17):
        values = [1000.0 + day % 3, 1001.0] if day < 9 else [1300.0 + day % 3, 1301.0]
        write_measured(runs, _name(day), {"c01": {"sent_peak_per_s": values}})
    assert [c["answer"] for c in _series("sent_peak_per_s")[0]["changes"]] == ["higher"]
    assert f"higher: 1.30× since {_name(9)}" in _history("sent_peak_per_s").stdout


def test_a_steady_series_has_no_change_points(runs: Path) -> None:
    _nightly(runs, lambda _day: 2e6)
    assert _series(P99)[0]["changes"] == []
    assert "no change points (1 series, 1 long enough" in _history(P99).stdout


def test_runs_that_are_not_valid_are_shown_apart_and_do_not_count(runs: Path) -> None:
    def verdicts(day: int) -> dict[str, Any]:
        bad = {"verdict": "invalid", "latencies": "invalid", "because": "the agents were late"}
        return {"c01": bad} if day > 14 else {}

    _nightly(runs, lambda day: 2e6 if day <= 14 else 6e6, verdicts=verdicts)
    (series,) = _series(P99)
    assert series["changes"] == []
    assert [p["run"] for p in series["points"] if p["apart"]] == [_name(day) for day in range(15, 21)]
    text = _history(P99).stdout
    assert f"× apart: {_name(20)}: invalid in latencies: the agents were late" in text
    assert "2 earlier runs" in text
    assert "××××××" in text


def test_rates_of_a_run_count_where_only_its_latencies_are_not_valid(runs: Path) -> None:
    bad = {"c01": {"verdict": "invalid", "latencies": "invalid"}}
    write_measured(runs, _name(1), {"c01": {P99: [1e6], "sent_per_s": [1000.0]}}, verdicts=bad)
    apart = {s["metric"]: bool(s["points"][0]["apart"]) for s in _series()}
    assert apart == {P99: True, "sent_per_s": False}


def test_another_load_is_another_series_and_another_label_is_not(runs: Path) -> None:
    loads = {1: 1, 2: 1, 3: 4}
    for day, destinations in loads.items():
        plan = {"c01": {"destinations": destinations, "label": f"kafka {day}", "cell": "c01"}}
        write_measured(runs, _name(day), {"c01": {P99: [1e6]}}, plans=plan)
    found = _series(P99)
    assert [[p["run"] for p in s["points"]] for s in found] == [[_name(1), _name(2)], [_name(3)]]


def test_series_of_one_name_are_told_apart_by_what_they_ask(runs: Path) -> None:
    for day, destinations in ((1, 1), (2, 4)):
        write_measured(runs, _name(day), {"c01": {P99: [1e6]}}, plans={"c01": {"destinations": destinations}})
    assert [s["title"] for s in _series(P99)] == ["kafka (L4), destinations 1", "kafka (L4), destinations 4"]


def test_alike_cells_of_one_run_are_never_one_series(runs: Path) -> None:
    same = {c: {"broker": "kafka", "label": label, "parameters": {}} for c, label in (("c01", "one"), ("c02", "two"))}
    write_measured(runs, _name(1), {"c01": {P99: [1e6]}, "c02": {P99: [2e6]}}, plans=same)
    assert [s["title"] for s in _series(P99)] == ["kafka one (L4)", "kafka two (L4)"]


def test_a_swept_setting_is_part_of_the_question(runs: Path) -> None:
    def plans(threads: str) -> dict[str, Any]:
        setting = "broker_settings.num.io.threads"
        return {"c01": {"broker_settings": {"num.io.threads": threads}, "parameters": {setting: threads}}}

    for day, threads in ((1, "8"), (2, "16"), (3, "8")):
        write_measured(runs, _name(day), {"c01": {P99: [1e6]}}, plans=plans(threads))
    assert [len(s["points"]) for s in _series(P99)] == [2, 1]


def test_where_chooses_by_facts(runs: Path) -> None:
    for day, (tag, host) in enumerate((("nightly", "a"), ("nightly", "b"), (None, "a")), 1):
        write_measured(runs, _name(day), {"c01": {P99: [1e6]}, "c02": {P99: [1e6]}}, tag=tag, host=host)

    def runs_of(*where: str) -> list[tuple[str, int]]:
        found = _series(P99, *(word for text in where for word in ("--where", text)))
        return [(s["question"]["broker"], len(s["points"])) for s in found]

    assert runs_of("broker=kafka") == [("kafka", 3)]
    assert runs_of("tag=nightly", "host=a") == [("kafka", 1), ("nats", 1)]
    assert runs_of("broker=n*", "host=a", "host=b") == [("nats", 3)]
    assert runs_of("destinations=1", "broker=kafka") == [("kafka", 3)]


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("p99",), "METRIC: no metric is called 'p99'"),
        ((P99, "--where", "broker"), "--where must be NAME=VALUE (got 'broker')"),
        ((P99, "--where", "brokr=kafka"), "did you mean 'broker'?"),
        ((P99, "--where", "broker=kafak"), "broker is one of: kafka"),
        ((P99, "--lake", "x", "--runs", "y"), "--lake and --runs exclude each other"),
    ],
)
def test_bad_input_is_said_with_what_to_do(runs: Path, args: tuple[str, ...], said: str) -> None:
    _nightly(runs, lambda _day: 2e6, days=[1])
    assert said in _history(*args, code=2).stderr


def test_too_few_runs_and_runs_without_an_analysis_are_said(runs: Path) -> None:
    _nightly(runs, lambda _day: 2e6, days=[1, 2, 3])
    (runs / _name(2) / "verdict.json").unlink()
    text = _history(P99).stdout
    assert "change points need 8 runs that count, there are 2" in text
    assert f"not analyzed and left out: {_name(2)}" in text


def test_without_runs_nothing_is_shown(runs: Path) -> None:
    runs.mkdir()
    assert "no run has such a figure" in _history().stdout


def test_a_lost_message_is_shown_without_change_points(runs: Path) -> None:
    for day in range(1, 10):
        write_measured(runs, _name(day), {"c01": {"lost": [0.0, float(day == 9)]}})
    (series,) = _series("lost")
    assert (series["points"][-1]["high"], series["changes"]) == (1.0, [])
    assert "a single one matters" in series["note"]


def test_the_page_holds_the_series_its_changes_and_all_runs(runs: Path, tmp_path: Path) -> None:
    _nightly(runs, lambda day: 2e6 if day < 11 else 2.6e6, facts=_version)
    file = tmp_path / "history.html"
    assert f"page: {file}" in _history(P99, "--html", str(file)).stdout
    page = file.read_text()
    for part in ('data-history="0"', "kafka version: 4.2.0 → ", _name(1), _name(20), "× worse"):
        assert part in page, part
    assert "src=" not in page  # nothing is fetched


def test_neither_spark_nor_pandas_are_imported(runs: Path) -> None:
    _nightly(runs, lambda _day: 2e6, days=range(1, 10))
    code = (
        "import sys; from click.testing import CliRunner; from brokerlab.cli.main import cli;"
        "r = CliRunner().invoke(cli, ['history']); assert r.exit_code == 0, r.output;"
        "print(sorted({m.split('.')[0] for m in sys.modules} & {'pyspark', 'py4j', 'pandas'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.returncode) == ("[]", 0), done.stderr
