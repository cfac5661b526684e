"""compare: what is matched, what is answered, what is refused, and the exit codes."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from brokerlab.cli.main import cli
from brokerlab.model.environment import CellEnvironment, DurabilityFacts
from compared_runs import write_measured
from synthetic_tables import Story, write_results

P99 = "end_to_end_latency_p99_ns"
STEADY = [1000.0, 1001.0, 999.5, 1000.5, 1000.2]
LATENCY = [2.00e6, 2.05e6, 1.98e6, 2.02e6, 2.01e6]
ONE = "20261101T120000Z-one-aaaaaa"
TWO = "20261102T120000Z-two-bbbbbb"


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BROKERLAB_RUNS", str(tmp_path / "runs"))
    return tmp_path / "runs"


def _compare(*args: str, code: int = 0) -> Result:
    result = CliRunner().invoke(cli, ["compare", *args])
    assert result.exit_code == code, result.output
    return result


def _answers(*args: str) -> list[dict[str, Any]]:
    """Of the first cell."""
    answers: list[dict[str, Any]] = json.loads(_compare(*args, "--json").stdout)["cells"][0]["answers"]
    return answers


def _by_metric(*args: str) -> dict[str, dict[str, Any]]:
    return {a["metric"]: a for a in _answers(*args)}


def _times(values: Sequence[float], factor: float) -> list[float]:
    return [v * factor for v in values]


def _two(runs: Path, *, rate: float = 1.0, latency: float = 1.0, **second: Any) -> None:
    write_measured(runs, ONE, {"c01": {"received_per_s": STEADY, P99: LATENCY}})
    changed = {"received_per_s": _times(STEADY, rate), P99: _times(LATENCY, latency)}
    write_measured(runs, TWO, {"c01": changed}, **second)


def test_a_lower_rate_and_a_higher_latency_are_worse(runs: Path) -> None:
    _two(runs, rate=0.9, latency=1.3)
    found = _by_metric("one", "two")
    assert {m: found[m]["answer"] for m in ("received_per_s", P99)} == {"received_per_s": "worse", P99: "worse"}
    assert found[P99]["ratio"] == pytest.approx(1.3)


def test_a_higher_rate_and_a_lower_latency_are_better(runs: Path) -> None:
    _two(runs, rate=1.1, latency=0.7)
    assert {a["answer"] for a in _answers("one", "two")} == {"better"}


def test_where_neither_way_is_better_the_difference_is_no_answer(runs: Path) -> None:
    write_measured(runs, ONE, {"c01": {"sent_peak_per_s": STEADY}})
    write_measured(runs, TWO, {"c01": {"sent_peak_per_s": _times(STEADY, 1.5)}})
    (found,) = _answers("one", "two", "--metric", "sent_peak_per_s")
    assert (found["answer"], found["reason"]) == ("cannot tell", "it is higher, and neither is better")


def test_equal_runs_are_the_same(runs: Path) -> None:
    _two(runs)
    assert {a["answer"] for a in _answers("one", "two")} == {"same"}
    assert "2 same" in _compare("one", "two").stdout


def test_one_sentence_stands_before_every_number(runs: Path) -> None:
    _two(runs, rate=0.9, latency=0.7)
    assert (
        _compare("one", "two").stdout.splitlines()[0] == "Worse: kafka received. Better: kafka end-to-end latency p99."
    )
    _two(runs)
    assert _compare("one", "two").stdout.startswith("The same: all 2 answers")
    noisy = [1.0e6, 1.6e6, 0.7e6, 1.2e6]
    write_measured(runs, ONE, {"c01": {"received_per_s": STEADY, P99: noisy}})
    write_measured(runs, TWO, {"c01": {"received_per_s": STEADY, P99: noisy[::-1]}})
    document = json.loads(_compare("one", "two", "--json").stdout)
    reach = max(max(a["high"], 1 / a["low"]) for a in document["cells"][0]["answers"] if a["answer"] == "cannot tell")
    assert document["headline"] == (
        f"No difference was found: 1 of 2 answers are the same, for 1 it cannot tell (differences up to {reach:.3g} times "
        "would not show)."
    )
    assert f"**{document['headline']}**" in _compare("one", "two", "--markdown").stdout


def test_noise_gives_no_answer_but_the_number_of_repeats_that_would(runs: Path) -> None:
    noisy = [1.0e6, 1.6e6, 0.7e6, 1.2e6]
    write_measured(runs, ONE, {"c01": {P99: noisy}})
    write_measured(runs, TWO, {"c01": {P99: _times(noisy[::-1], 1.1)}})
    (found,) = _answers("one", "two")
    assert found["answer"] == "cannot tell"
    assert found["more_repeats"] > 100
    assert f"{found['more_repeats']:,} more repeats would tell apart 5 %" in found["reason"]


def test_two_runs_are_compared_without_pairs_and_the_interval_is_that_of_student(runs: Path) -> None:
    _two(runs, latency=1.3)
    found = _by_metric("one", "two", "--metric", P99)[P99]
    a, b = np.log(LATENCY), np.log(_times(LATENCY, 1.3))
    error = math.sqrt(a.var(ddof=1) / 5 + b.var(ddof=1) / 5)
    degrees = 2 * 8 * 4 / (8 + 4)  # variances are equal, so Welch's are 8; those of one side are 4
    reach = math.log(found["high"] / 1.3)
    assert not found["paired"]
    assert math.log(1.3 / found["low"]) == pytest.approx(reach)
    t = np.linspace(0, reach / error, 200_001)
    density = math.gamma((degrees + 1) / 2) / math.gamma(degrees / 2) / math.sqrt(degrees * math.pi)
    density = density * (1 + t**2 / degrees) ** (-(degrees + 1) / 2)
    inside = 2 * float(((density[1:] + density[:-1]) / 2 * np.diff(t)).sum())
    assert inside == pytest.approx(0.96, abs=1e-6)


def test_an_extra_execution_takes_the_place_of_the_repeat_it_replaces(runs: Path) -> None:
    """Execution 6 of the first cell stands in for its second: drift that is common to a round cancels out only so."""
    drift = {1: 1.0, 2: 3.0, 3: 0.4, 4: 2.0, 5: 1.5}
    first = [2e6 * drift[r] for r in (1, 3, 4, 5, 2)]
    second = [2.4e6 * drift[r] for r in (1, 2, 3, 4, 5)]
    run = write_measured(runs, ONE, {"c01": {P99: first}, "c02": {P99: second}}, rounds={"c01": (1, 3, 4, 5, 6)})
    file = run.path / "state.json"
    state = json.loads(file.read_text())
    state["executions"]["c01-r6"] = {"state": "finished", "extra": True, "replaces": 2}
    file.write_text(json.dumps(state))
    (found,) = _answers("one:c01", "one:c02")
    assert (found["answer"], found["low"]) == ("worse", pytest.approx(1.2))


def test_cells_of_one_run_are_compared_in_pairs(runs: Path) -> None:
    drift = [1.0, 3.0, 0.4, 2.0, 1.5]
    base = [2e6 * f for f in drift]
    write_measured(runs, ONE, {"c01": {P99: base}, "c02": {P99: _times(base, 1.2)}})
    (found,) = _answers("one:c01", "one:nats")
    assert (found["paired"], found["answer"]) == (True, "worse")
    assert found["ratio"] == pytest.approx(1.2)


def test_pairs_follow_the_rounds_of_counted_executions(runs: Path) -> None:
    """Round 2 of the first cell and round 5 of the second do not count: the pairs are 1, 3, 4, 6."""
    drift = {1: 1.0, 2: 3.0, 3: 0.4, 4: 2.0, 5: 1.5, 6: 5.0}
    first, second = [r for r in drift if r != 2], [r for r in drift if r != 5]
    values = {
        "c01": {P99: [2e6 * drift[r] for r in first]},
        "c02": {P99: [2.4e6 * drift[r] for r in second]},
    }
    write_measured(runs, ONE, values, rounds={"c01": first, "c02": second})
    (found,) = _answers("one:c01", "one:c02")
    assert found["ratio"] == pytest.approx(1.2)
    assert found["answer"] == "worse"


def test_several_candidates_are_each_compared_with_the_base(runs: Path) -> None:
    values = {f"c0{i}": {P99: _times(LATENCY, f)} for i, f in ((1, 1.0), (2, 1.3), (3, 0.6))}
    write_measured(runs, ONE, values)
    cells = json.loads(_compare("one:c01", "one:c02", "one:c03", "--json").stdout)["cells"]
    assert [c["answers"][0]["answer"] for c in cells] == ["worse", "better"]


def test_cells_of_two_runs_are_matched_by_what_they_ask_not_by_their_number(runs: Path) -> None:
    nats = {"broker": "nats", "label": "nats", "parameters": {"broker": "nats"}}
    kafka = {"broker": "kafka", "label": "kafka", "parameters": {"broker": "kafka"}}
    write_measured(runs, ONE, {"c01": {P99: LATENCY}, "c02": {P99: _times(LATENCY, 5)}})
    swapped = {"c01": {P99: _times(LATENCY, 5)}, "c02": {P99: LATENCY}}
    write_measured(runs, TWO, swapped, plans={"c01": nats, "c02": kafka})
    document = json.loads(_compare("one", "two", "--json").stdout)
    assert [(c["base_cell"], c["candidate_cell"]) for c in document["cells"]] == [("kafka", "kafka"), ("nats", "nats")]
    assert document["counts"] == {"worse": 0, "better": 0, "same": 2, "cannot tell": 0}


def test_cells_that_only_one_run_has_are_named(runs: Path) -> None:
    write_measured(runs, ONE, {"c01": {P99: LATENCY}, "c02": {P99: LATENCY}})
    write_measured(runs, TWO, {"c01": {P99: LATENCY}})
    assert "only in one: nats" in _compare("one", "two").stdout


def test_tags_stand_for_all_their_runs(runs: Path) -> None:
    for i in range(4):
        write_measured(runs, f"2026110{i}T120000Z-x-a{i}", {"c01": {P99: _times(LATENCY, 1 + i / 500)}}, tag="before")
        write_measured(runs, f"2026111{i}T120000Z-x-b{i}", {"c01": {P99: _times(LATENCY, 1.3 + i / 500)}}, tag="after")
    (found,) = _answers("before", "after")
    assert (found["n_base"], found["n_candidate"], found["answer"]) == (4, 4, "worse")  # runs are the units


def test_few_runs_of_a_tag_are_pooled_and_the_caveat_is_printed(runs: Path) -> None:
    for i in range(2):
        write_measured(runs, f"2026110{i}T120000Z-x-a{i}", {"c01": {P99: LATENCY}}, tag="before")
    write_measured(runs, TWO, {"c01": {P99: LATENCY}}, tag="after")
    (found,) = _answers("before", "after")
    assert (found["n_base"], found["n_candidate"]) == (10, 5)
    assert "2 and 1 runs" in _compare("before", "after").stdout


def test_unlike_durability_is_refused_unless_asked_for(runs: Path) -> None:
    other = CellEnvironment(durability=DurabilityFacts(level="L1"))
    _two(runs, latency=1.3, facts={"c01": other})
    assert {a["answer"] for a in _answers("one", "two")} == {"cannot tell"}
    text = _compare("one", "two").stdout
    assert "unlike durability: L4 → L1" in text
    assert _by_metric("one", "two", "--unlike")[P99]["answer"] == "worse"


def test_unlike_driver_path_is_refused(runs: Path) -> None:
    _two(runs, latency=1.3, facts={"c01": CellEnvironment(driver_path="python (test)")})
    assert "driver path: native (test) → python (test)" in _answers("one", "two")[0]["reason"]


@pytest.mark.parametrize("position", [0, 1, 3])
@pytest.mark.parametrize("mixed", ["before", "after"])
@pytest.mark.parametrize(
    ("facts", "said"),
    [
        (CellEnvironment(durability=DurabilityFacts(level="L1")), "durability among the runs of {}: L1 in"),
        (CellEnvironment(driver_path="python (test)"), "driver path among the runs of {}: python (test) in"),
    ],
    ids=["durability", "driver path"],
)
def test_a_tag_whose_runs_are_unlike_among_themselves_is_refused_whichever_is_the_latest(
    runs: Path, facts: CellEnvironment, said: str, mixed: str, position: int
) -> None:
    for i in range(4):
        for day, tag, factor in ((1, "before", 1.0), (2, "after", 1.3)):
            other = facts if (tag, i) == (mixed, position) else CellEnvironment()
            values = {"c01": {P99: _times(LATENCY, factor + i / 500)}}
            write_measured(runs, f"202611{day}{i}T120000Z-x-{tag}{i}", values, tag=tag, facts={"c01": other})
    (found,) = _answers("before", "after")
    assert found["answer"] == "cannot tell"
    if position < 3:
        assert said.format(mixed) in found["reason"]
    else:  # the others differ from the latest
        assert f"among the runs of {mixed}" in found["reason"]
    assert _by_metric("before", "after", "--unlike")[P99]["answer"] == "worse"


def test_what_else_the_runs_of_a_tag_differ_in_is_printed_once_and_does_not_forbid_an_answer(runs: Path) -> None:
    for i in range(4):
        values = {"c01": {P99: _times(LATENCY, 1 + i / 500)}}
        write_measured(runs, f"2026110{i}T120000Z-x-a{i}", values, tag="before", host="new" if i == 3 else "old")
        write_measured(
            runs, f"2026111{i}T120000Z-x-b{i}", {"c01": {P99: _times(LATENCY, 1.3)}}, tag="after", host="new"
        )
    (cell,) = json.loads(_compare("before", "after", "--json").stdout)["cells"]
    (host,) = cell["unlike"]
    assert host["what"] == "host among the runs of before"
    assert host["base"].startswith("old, ")
    assert host["base"].endswith(" in 20261100T120000Z-x-a0")
    assert cell["answers"][0]["answer"] == "worse"


def test_differing_settings_host_and_load_are_printed_and_do_not_forbid_an_answer(runs: Path) -> None:
    def server(fsync: str, run: str) -> CellEnvironment:
        topic = f"brokerlab-aaaaaa-{run}-c01-r4-a1-d0"
        return CellEnvironment(
            effective_settings={"server": {"fsync": fsync, "log.dirs": f"/x/{run}/1"}, topic: {"partitions": "1"}}
        )

    changed = {"destinations": 3}
    write_measured(runs, ONE, {"c01": {P99: LATENCY}}, facts={"c01": server("never", ONE)})
    write_measured(
        runs, TWO, {"c01": {P99: _times(LATENCY, 2)}}, facts={"c01": server("always", TWO)}, plans={"c01": changed},
        host="other",
    )  # fmt: skip
    cell = json.loads(_compare("one", "two", "--json").stdout)["cells"][0]
    assert {u["what"]: (u["base"], u["candidate"]) for u in cell["unlike"] if u["what"] != "host"} == {
        "destinations": ("1", "3"),
        "setting server.fsync": ("never", "always"),
    }
    assert any(u["what"] == "host" and u["candidate"].startswith("other") for u in cell["unlike"])
    assert cell["answers"][0]["answer"] == "worse"


def test_a_cell_whose_verdict_is_not_valid_gives_no_answer_for_that_aspect_and_says_why(runs: Path) -> None:
    bad = {"verdict": "invalid", "latencies": "invalid", "because": "the agents were late"}
    _two(runs, rate=0.5, latency=1.3, verdicts={"c01": bad})
    found = _by_metric("one", "two")
    assert found["received_per_s"]["answer"] == "worse"
    assert found[P99]["answer"] == "cannot tell"
    assert "the agents were late" in found[P99]["reason"]


def test_a_verdict_without_aspects_counts_as_a_whole(runs: Path) -> None:
    _two(runs, rate=0.5, verdicts={"c01": {"verdict": "invalid"}})
    file = runs / TWO / "verdict.json"
    document = json.loads(file.read_text())
    document["schema_version"] = 1
    file.write_text(json.dumps(document))
    assert {a["answer"] for a in _answers("one", "two")} == {"cannot tell"}


def test_a_lost_message_is_worse_than_none_without_any_statistics(runs: Path) -> None:
    write_measured(runs, ONE, {"c01": {"lost": [0, 0]}})
    write_measured(runs, TWO, {"c01": {"lost": [0, 1]}})
    (found,) = _answers("one", "two")
    assert (found["metric"], found["answer"], found["base"], found["candidate"]) == ("lost", "worse", 0, 1)
    assert _answers("two", "one")[0]["answer"] == "better"


def test_fail_on_worse_exits_7_only_for_the_metric_that_was_named(runs: Path) -> None:
    _two(runs, latency=1.3)
    assert (
        "end_to_end_latency_p99_ns of kafka in two is worse"
        in _compare("one", "two", "--fail-on", "worse", code=7).stderr
    )
    _compare("one", "two", "--fail-on", f"worse:{P99}", code=7)
    _compare("one", "two", "--fail-on", "worse:received_per_s", code=0)
    _compare("two", "one", "--fail-on", "worse", code=0)


def test_markdown_has_one_table_for_each_cell(runs: Path) -> None:
    _two(runs, latency=1.3)
    text = _compare("one", "two", "--markdown").stdout
    assert "| end-to-end latency p99 |" in text
    assert "**worse**" in text


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("oen", "two"), "did you mean '20261101T120000Z-one-aaaaaa'?"),
        (("one", "zzzzzzzz"), "no run and no tag is called 'zzzzzzzz'"),
        (("one:c07", "two"), "no single cell called 'c07'"),
        (("one:kafkka", "two"), "did you mean 'kafka'?"),
        (("one", "one"), "are the same cells"),
        (("one", "two", "--metric", "p99_end_to_end"), "no metric is called 'p99_end_to_end'"),
        (("one", "two", "--fail-on", "better"), "must be worse or worse:METRIC (got 'better')"),
        (("one", "two", "--fail-on", "worse:sent"), "did you mean 'sent_per_s'?"),
        (("one", "two", "--json", "--markdown"), "exclude each other"),
        (("one",), "Missing argument 'CANDIDATE...'"),
    ],
)
def test_bad_input_is_said_with_what_to_do(runs: Path, args: tuple[str, ...], said: str) -> None:
    _two(runs)
    assert said in _compare(*args, code=2).stderr


def test_runs_without_a_common_cell_are_refused_with_their_cells(runs: Path) -> None:
    def renamed(*names: str) -> dict[str, dict[str, Any]]:
        return {f"c0{i}": {"broker": n, "label": n, "parameters": {"broker": n}} for i, n in enumerate(names, 1)}

    values = {"c01": {P99: LATENCY}, "c02": {P99: LATENCY}}
    write_measured(runs, ONE, values)
    write_measured(runs, TWO, values, plans=renamed("redis", "pulsar"))
    assert "have no cell in common: kafka, nats and redis, pulsar" in _compare("one", "two", code=2).stderr


def test_a_run_that_was_not_analyzed_is_named_with_the_command(runs: Path) -> None:
    _two(runs)
    (runs / TWO / "verdict.json").unlink()
    assert f"brokerlab analyze {TWO}" in _compare("one", "two", code=2).stderr


def test_a_damaged_table_is_named_with_what_makes_it_again(runs: Path) -> None:
    _two(runs)
    (runs / TWO / "tables" / "run_summary" / "part-0.parquet").write_bytes(b"PAR1 cut off")
    said = _compare("one", "two", code=5).stderr
    assert "run_summary/part-0.parquet cannot be read" in said
    assert f"brokerlab analyze {TWO}" in said


def test_an_empty_directory_of_runs_is_no_crash(runs: Path) -> None:
    runs.mkdir()
    assert "no run and no tag is called 'last'" in _compare("last", "one", code=2).stderr


def test_no_jvm_and_no_spark_are_imported(runs: Path) -> None:
    _two(runs)
    code = (
        "import sys; from click.testing import CliRunner; from brokerlab.cli.main import cli;"
        "r = CliRunner().invoke(cli, ['compare', 'one', 'two']); assert r.exit_code == 0, r.output;"
        "print(sorted(m for m in sys.modules if m.split('.')[0] in ('pyspark', 'py4j')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.returncode) == ("[]", 0), done.stderr


def test_the_page_holds_answers_and_the_charts_of_both_sides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BROKERLAB_RUNS", str(tmp_path))
    write_results(tmp_path / ONE, Story(repeats=4, measure_s=4))
    write_results(tmp_path / TWO, Story(repeats=4, measure_s=4), seed=1)
    file = tmp_path / "page.html"
    _compare("one", "two", "--html", str(file))
    page = file.read_text()
    for part in ("A kafka", "B nats", "end-to-end latency p99", 'data-chart="spectrum"'):
        assert part in page
    assert "src=" not in page  # nothing is fetched


def test_a_page_that_cannot_be_written_is_the_users_to_mend(runs: Path, tmp_path: Path) -> None:
    _two(runs)
    assert "cannot be written" in _compare("one", "two", "--html", str(tmp_path / "no" / "page.html"), code=2).stderr
