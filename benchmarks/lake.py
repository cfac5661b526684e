"""`python -m benchmarks lake [--runs N]`: how long a lake takes to be filled and asked, and whether its answers are right.

Runs are copies of a recorded one, analyzed once; each has a name and figures of its own, which follow from its number, so
the answer to every question is known. Every line is a command in a process of its own, its start included.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from brokerlab.lake.survey import DOCUMENTS
from brokerlab.results.directory import write_json
from brokerlab.results.tables import RUN_SUMMARY, STORED_TABLES

FIXTURE = Path(__file__).parents[1] / "tests" / "fixtures" / "runs-0.1.0" / "two-brokers.tar.xz"
METRIC = "received_per_s"
COMPARE = (
    "WITH of_run AS (SELECT run, cell, median FROM run_summary WHERE metric = '{metric}') "
    "SELECT count(*) AS n, min(c.median / b.median) AS lowest, max(c.median / b.median) AS highest "
    "FROM of_run b JOIN of_run c ON b.cell = c.cell WHERE b.run = '{base}'"
)


def factor(number: int) -> float:
    """By which the figures of a run differ from the recorded ones: known, and different for neighbours."""
    return 1.0 + (number % 97) / 1000


def tag(number: int) -> str:
    """Of two that are compared, with as many runs each."""
    return ("before", "after")[number % 2]


def main(arguments: Sequence[str]) -> str:
    parser = argparse.ArgumentParser(prog="python -m benchmarks lake", description=__doc__)
    parser.add_argument("--runs", type=int, default=200, help="runs that are added to an empty lake (default 200)")
    given = parser.parse_args(arguments)
    if given.runs < 8:
        parser.error("--runs must be at least 8: tags with fewer than 4 runs are compared by their executions")
    with tempfile.TemporaryDirectory(prefix="brokerlab-bench-lake-") as name:
        place = Path(name)
        first, medians = make_runs(place, given.runs)
        return _measure(place, given.runs, first, medians)


def make_runs(place: Path, n: int) -> tuple[str, list[float]]:
    """`n` runs under place/runs and one more under place/later. The first one's name, and the recorded medians of METRIC."""
    with tarfile.open(FIXTURE) as packed:
        packed.extractall(place / "recorded", filter="data")
    (recorded,) = (place / "recorded").iterdir()
    _brokerlab(
        place, "analyze", recorded.name, "--runs", str(recorded.parent), "--no-lake", "--quiet", right=(0, 5, 6, 7)
    )
    (recorded / "report.html").unlink(missing_ok=True)
    summary = pq.read_table(recorded / "tables" / RUN_SUMMARY.name / "part-0.parquet")
    medians = summary.filter(pc.equal(summary["metric"], METRIC))["median"].to_pylist()
    for number in range(n + 1):
        _copied(recorded, place / ("runs" if number < n else "later"), number)
    return _name(0), medians


def _name(number: int) -> str:
    return f"2026{1 + number // 9999:02d}01T{number % 10000:06d}Z-copied-{number:06x}"


def _copied(recorded: Path, root: Path, number: int) -> None:
    """The recorded run under another name, with figures multiplied by its factor. Evidence keeps its times of writing."""
    target = root / _name(number)
    shutil.copytree(recorded, target)
    for document in DOCUMENTS:
        facts: dict[str, Any] = json.loads((target / document).read_text())
        facts |= {"run": target.name} if "run" in facts else {}
        write_json(target / document, {**facts, "tag": tag(number)} if document == "plan.json" else facts)
    for name in STORED_TABLES:
        file = target / "tables" / name / "part-0.parquet"
        table = pq.read_table(file)
        at = table.schema.get_field_index("run")
        table = table.set_column(at, table.schema.field("run"), pa.array([target.name] * len(table), pa.string()))
        if name == RUN_SUMMARY.name:
            table = _multiplied(table, factor(number))
        pq.write_table(table, file, compression="zstd")


def _multiplied(summary: pa.Table, by: float) -> pa.Table:
    """Medians and the values they are of."""
    values = summary["values"].combine_chunks()
    changed = {
        "median": pc.multiply(summary["median"], by),
        "values": pa.ListArray.from_arrays(values.offsets, pc.multiply(values.values, by)),
    }
    for name, column in changed.items():
        field = summary.schema.field(name)
        summary = summary.set_column(summary.schema.get_field_index(name), field, column.cast(field.type))
    return summary


def _measure(place: Path, n: int, first: str, medians: list[float]) -> str:
    runs, lines = ["--runs", str(place / "runs"), "--lake", str(place / "lake")], []

    def timed(what: str, *words: str) -> Any:
        began = time.monotonic()
        said = _brokerlab(place, *words)
        lines.append(f"| {what} | {time.monotonic() - began:.1f} |")
        return said

    _brokerlab(place, "lake", "init", *runs)
    added = json.loads(timed(f"{n:,} runs added to an empty lake", "lake", "add", *runs, "--json", "--quiet"))
    assert len(added["added"]) == n, added["refused"]
    timed("nothing new to add", "lake", "add", *runs, "--quiet")
    one = ["--runs", str(place / "later"), "--lake", str(place / "lake")]
    assert len(json.loads(timed("one more run added", "lake", "add", *one, "--json", "--quiet"))["added"]) == 1
    timed("status", "lake", "status", *runs)
    timed("check: every file against the manifest, each layer against the next", "lake", "check", *runs)
    question = COMPARE.format(metric=METRIC, base=first)
    (answer,) = json.loads(
        timed(f"one metric of {n + 1} runs compared with a base (DuckDB)", "query", question, *runs, "--json")
    )
    _is_right(answer, n + 1, len(medians))
    words = ("compare", tag(0), tag(1), "--lake", str(place / "lake"), "--metric", METRIC, "--json")
    _is_right_of_tags(json.loads(timed(f"two tags of {n + 1} runs compared (`brokerlab compare`)", *words)), n + 1)
    timed(
        "all runs listed with their verdict (DuckDB)",
        "query",
        "SELECT run, verdict, headline FROM runs",
        *runs,
        "--json",
    )
    seconds = "SELECT run, cell, max(sent) FROM rate_per_second GROUP BY run, cell"
    timed("every second of every run scanned (DuckDB)", "query", seconds, *runs, "--json")
    facts = json.loads(_brokerlab(place, "lake", "status", *runs, "--json"))
    rows = sum(facts["tables"].values())
    manifest = max((place / "lake" / "manifests").iterdir())
    head = (
        f"### A lake of {n:,} runs\n\n{time.strftime('%Y-%m-%d', time.gmtime())}, {os.cpu_count()} cores, kernel"
        f" {platform.release()}, load {os.getloadavg()[0]:.1f}; {rows:,} rows, {facts['bytes'] / 1e6:.1f} MB in Parquet,"
        f" manifest {manifest.stat().st_size / 1e6:.1f} MB\n\n| what, as a command | seconds |\n|---|---|\n"
    )
    return head + "\n".join(lines) + "\n"


def _is_right(answer: dict[str, Any], runs: int, cells: int) -> None:
    """The comparison must find the factors that were put in."""
    factors = [factor(number) / factor(0) for number in range(runs)]
    wanted = {"n": runs * cells, "lowest": min(factors), "highest": max(factors)}
    wrong = {name: (answer[name], value) for name, value in wanted.items() if abs(answer[name] - value) > 1e-9}
    if wrong:
        raise SystemExit(f"the lake's answer is not what was put in: {wrong}")


def _is_right_of_tags(answer: dict[str, Any], runs: int) -> None:
    """Every run counts, and the medians of the two tags differ by the factors that were put in."""
    of_tag = {name: [factor(number) for number in range(runs) if tag(number) == name] for name in (tag(0), tag(1))}
    wanted = statistics.median(of_tag[tag(1)]) / statistics.median(of_tag[tag(0)])
    for cell in answer["cells"]:
        (found,) = (a for a in cell["answers"] if a["metric"] == METRIC)
        counted = found["n_base"], found["n_candidate"]
        if counted != (len(of_tag[tag(0)]), len(of_tag[tag(1)])) or (
            abs(found["candidate"] / found["base"] - wanted) > 1e-9
        ):
            raise SystemExit(f"the comparison is not what was put in: {found}, wanted {wanted}")


def _brokerlab(place: Path, *words: str, right: tuple[int, ...] = (0,)) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "brokerlab.cli.main", *words], capture_output=True, text=True, cwd=place, check=False
    )
    if done.returncode not in right:
        raise SystemExit(f"brokerlab {' '.join(words)} ended with {done.returncode}: {done.stderr}")
    return done.stdout
