"""export: every format read back by a reader of that format, and what is refused."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from brokerlab.cli.main import cli
from brokerlab.results.directory import RunDirectory
from brokerlab.results.reader import read_rows
from brokerlab.results.tables import DELIVERY, READING_PER_SECOND, RESULT_TABLES, RUN_SUMMARY
from synthetic_tables import Story, write_results

NAME = "20261101T120000Z-one-aaaaaa"
SAMPLE = re.compile(r'^(\w+)\{((?:\w+="(?:[^"\\]|\\.)*",?)+)\} (\S+)$')


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunDirectory:
    monkeypatch.setenv("BROKERLAB_RUNS", str(tmp_path / "runs"))
    return write_results(tmp_path / "runs" / NAME, Story(repeats=3, measure_s=3, labels=('k"a|f\\k,a', "nats")))


def _export(*args: str, code: int = 0) -> Result:
    result = CliRunner().invoke(cli, ["export", "one", *args])
    assert result.exit_code == code, result.output
    return result


def test_json_of_a_whole_run_has_question_environment_verdict_and_figures(run: RunDirectory) -> None:
    document = json.loads(_export("json").stdout)
    assert document["run"] == NAME
    assert document["verdict"]["verdict"] == "valid"
    assert document["environment"]["host"] == run.environment().host.model_dump(mode="json")
    medians = [r["median"] for r in document["tables"]["run_summary"]]
    assert medians == [r["median"] for r in read_rows(run, RUN_SUMMARY)]


def test_json_of_tables_has_nothing_else(run: RunDirectory) -> None:
    document = json.loads(_export("json", "--table", "delivery").stdout)
    assert set(document) == {"schema_version", "run", "tables"}
    assert len(document["tables"]["delivery"]) == len(read_rows(run, DELIVERY))


def test_csv_reads_back_as_the_table(run: RunDirectory) -> None:
    rows = list(csv.DictReader(io.StringIO(_export("csv").stdout)))
    for found, row in zip(rows, read_rows(run, RUN_SUMMARY), strict=True):
        assert (found["label"], float(found["median"])) == (row["label"], row["median"])
        assert json.loads(found["values"]) == row["values"]
        assert found["run"] == NAME  # also where the table does not have it


def test_of_a_run_that_only_watched_its_readings_are_exported(run: RunDirectory, tmp_path: Path) -> None:
    plan = run.path / "plan.json"
    plan.write_text(json.dumps({**json.loads(plan.read_text()), "kind": "monitor"}))
    rows = list(csv.DictReader(io.StringIO(_export("csv").stdout)))
    readings = read_rows(run, READING_PER_SECOND)
    assert readings
    assert [(r["metric"], float(r["value"])) for r in rows] == [(r["metric"], r["value"]) for r in readings]
    assert _export("csv", "--out", str(tmp_path)).stdout == f"{tmp_path / NAME}.reading_per_second.csv\n"


def test_every_table_is_written_to_files(run: RunDirectory, tmp_path: Path) -> None:
    out = tmp_path / "out"
    for form in ("csv", "parquet"):
        _export(form, "--table", "all", "--out", str(out))
    assert len(list(out.iterdir())) == 2 * len(RESULT_TABLES)  # and nothing half-written beside them
    found = pq.ParquetFile(out / f"{NAME}.delivery.parquet").read().to_pylist()
    assert [r | {"run": ""} for r in found] == read_rows(run, DELIVERY)


@pytest.mark.usefixtures("run")
def test_markdown_holds_verdict_and_escaped_labels() -> None:
    text = _export("markdown").stdout
    assert "**valid**" in text
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    assert len({len(re.findall(r"(?<!\\)\|", line)) for line in lines}) == 1


@pytest.mark.usefixtures("run")
def test_junit_counts_what_holds_and_what_does_not() -> None:
    suite = ElementTree.fromstring(_export("junit").stdout.split("\n", 1)[1])
    names = [case.get("name") for case in suite.iter("testcase")]
    assert names[:3] == ["delivery", 'verdict: k"a|f\\k,a', "verdict: nats"]
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == (str(len(names)), "0", "0")


@pytest.mark.parametrize(("word", "failures", "skipped"), [("invalid", "2", "0"), ("cannot tell", "0", "2")])
def test_junit_fails_invalid_cells_and_skips_those_that_cannot_be_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, word: str, failures: str, skipped: str
) -> None:
    monkeypatch.setenv("BROKERLAB_RUNS", str(tmp_path))
    write_results(tmp_path / NAME, Story(repeats=2, measure_s=3, verdict=word))
    suite = ElementTree.fromstring(_export("junit").stdout.split("\n", 1)[1])
    assert (suite.get("failures"), suite.get("skipped")) == (failures, skipped)


def test_openmetrics_is_well_formed_and_has_latencies_in_seconds(run: RunDirectory) -> None:
    *lines, end = _export("openmetrics").stdout.splitlines()
    assert end == "# EOF"
    samples = [SAMPLE.match(line) for line in lines if not line.startswith("#")]
    assert samples
    assert all(samples)
    typed = {line.split()[2] for line in lines if line.startswith("# TYPE")}
    assert {s[1] for s in samples if s} == typed
    (row,) = [r for r in read_rows(run, RUN_SUMMARY) if (r["cell"], r["metric"]) == ("c02", "publish_latency_p99_ns")]
    (value,) = [
        float(s[3]) for s in samples
        if s and s[1] == "brokerlab_publish_latency_p99_seconds" and 'cell="c02"' in s[2] and 'statistic="median"' in s[2]
    ]  # fmt: skip
    assert value == pytest.approx(row["median"] / 1e9)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("csv", "--table", "run_sumary"), "did you mean 'run_summary'?"),
        (("csv", "--table", "all"), "do not fit into one CSV"),
        (("parquet",), "give --out DIR"),
        (("junit", "--table", "delivery"), "--table does not go with junit"),
        (("xml",), "the format must be one of json, csv"),
    ],
)
@pytest.mark.usefixtures("run")
def test_bad_input_is_said_with_what_to_do(args: tuple[str, ...], said: str) -> None:
    assert said in _export(*args, code=2).stderr


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("json",), "which run?"),
        (("one", "two", "json"), "one run at a time"),
        (("one", "json", "--lake", "lake", "--runs", "runs"), "--lake and --runs exclude each other"),
        (("one", "jsn"), "did you mean 'json'?"),
    ],
)
def test_what_is_exported_must_be_clear(args: tuple[str, ...], said: str) -> None:
    result = CliRunner().invoke(cli, ["export", *args])
    assert (result.exit_code, said in result.stderr) == (2, True), result.output


def test_a_run_that_was_not_analyzed_is_not_exported(run: RunDirectory) -> None:
    run.verdict_file.unlink()
    assert f"brokerlab analyze {NAME}" in _export("csv", code=2).stderr


@pytest.mark.usefixtures("run")
def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert "cannot be written" in _export("json", "--out", str(tmp_path / "file"), code=2).stderr
