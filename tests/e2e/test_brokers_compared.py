"""One workload on several brokers: one run, one report that compares them, the level of each beside it."""

from __future__ import annotations

from pathlib import Path

import pytest
from lab import Lab, workload

from brokerlab.results.reader import read_rows, read_verdict
from brokerlab.results.tables import COMPARISON, RUN_SUMMARY


@pytest.mark.timeout(900)
def test_two_brokers_give_one_run_and_one_report(lab: Lab, tmp_path: Path) -> None:
    file = workload(tmp_path, durability="strongest", producers={"rate": "200/s", "message": "200B"})
    said = lab.call("run", file, "--broker", "memory,faulty", "--quiet", within_s=840)
    assert said.returncode in (0, 5), said.stderr  # a busy machine makes rates unbelievable, not deliveries
    run = lab.run()
    assert [(c.label, c.durability_declared, c.durability_computed) for c in read_verdict(run).cells] == [
        ("memory", "L4", "L4"),
        ("faulty", "L4", "L4"),
    ]
    assert {(r["label"], r["durability"]) for r in read_rows(run, RUN_SUMMARY)} == {("memory", "L4"), ("faulty", "L4")}
    compared = read_rows(run, COMPARISON)
    assert compared
    assert all((r["cell_a"], r["cell_b"], r["same_durability"]) == ("c01", "c02", True) for r in compared)
    page = run.report_file.read_text()
    assert page.count("L4 as declared") == 2
    assert "not ranked together" not in page
    for name in ("memory", "faulty"):
        assert any(line.startswith(name) and " L4 " in line for line in said.stdout.splitlines()), said.stdout
