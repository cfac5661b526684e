"""Kill the leading node of every broker that can lose one, and write what happened to docs/data/kill-node.json.

    .venv/bin/python tools/record_kill_node.py                # all of them, with every number of nodes; minutes each
    .venv/bin/python tools/record_kill_node.py nats kafka:6   # these; what is recorded of the others stays

Each is one run of the shipped workload `lose-a-node` by the installed command line, at the strongest replicated level of
the broker with so many nodes. `make docs` then makes docs/brokers.md, which says what is not recorded yet.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from brokerlab.brokers.catalogue import read_record
from brokerlab.brokers.contract import Broker
from brokerlab.brokers.registry import BROKERS, broker_named
from brokerlab.results.directory import RunDirectory, run_directories, write_json
from brokerlab.results.fault_text import outage_text
from brokerlab.results.reader import read_verdict

RECORD = Path(__file__).parents[1] / "docs" / "data" / "kill-node.json"
COMMAND = [sys.executable, "-m", "brokerlab.cli.main"]


def record(broker: Broker, nodes: int) -> dict[str, Any]:
    """One run of one broker, as a row of the record."""
    level = min(broker.capabilities.durability_levels[nodes]).value
    asked = ["--broker", broker.name, "--set", f"cluster.nodes={nodes}", "--set", f"durability={level}"]
    with tempfile.TemporaryDirectory(prefix="brokerlab-kill-node-") as folder:
        command = [*COMMAND, "run", "lose-a-node", "--repeats", "1", "--quiet", *asked]
        env = {**os.environ, "BROKERLAB_RUNS": folder, "NO_COLOR": "1"}
        said = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
        found = run_directories(Path(folder))
        row = {"broker": broker.name, "nodes": nodes, "durability": level, "date": f"{datetime.now(UTC):%Y-%m-%d}"}
        if not found or not found[0].verdict_file.exists():
            lines = [line for line in said.stderr.splitlines() if line.strip()]
            why = lines[0] if lines else f"exit code {said.returncode}"
            return {**row, "version": broker.version, "machine": "no run", "verdict": "no run", "failure": why}
        return {**row, **_facts(found[0], broker)}


def _facts(run: RunDirectory, broker: Broker) -> dict[str, Any]:
    verdict, environment = read_verdict(run), run.environment()
    host = environment.host
    memory_gib = (host.memory_bytes or 0) / (1 << 30)
    facts: dict[str, Any] = {
        "version": environment.cell("c01").version or broker.version,
        "machine": f"{host.cpu_count} x {host.cpu_model}, {memory_gib:.0f} GiB, Linux {host.kernel}",
        "verdict": verdict.verdict,
        "failure": None,
    }
    if not verdict.faults:
        return {**facts, "failure": verdict.headline}
    (fault,) = verdict.faults
    values = fault.model_dump()
    kept = ("node", "took_over", "took_over_after_s", "publish_outage_s", "delivery_outage_s", "rejected", "unknown", "lost",
            "duplicated", "drained")  # fmt: skip
    return {
        **facts,
        **{name: values[name] for name in kept},
        "publish_outage": outage_text(values, "publish"),
        "delivery_outage": outage_text(values, "delivery"),
        "acknowledged": verdict.delivery["acknowledged"],
        "reasons": [r.text for r in verdict.reasons if r.weight != "note"],
    }


def wanted(asked: list[str]) -> list[tuple[str, int]]:
    """Brokers with numbers of nodes: `NAME` is all that this one can lose a node of, `NAME:NODES` one of them; nothing is
    every one of every broker."""
    able = [(name, nodes) for name in BROKERS for nodes in broker_named(name).capabilities.can_lose_a_node]
    found: list[tuple[str, int]] = []
    for text in asked:
        fitting = [(name, nodes) for name, nodes in able if text in (name, f"{name}:{nodes}")]
        if not fitting:
            known = ", ".join(f"{name}:{nodes}" for name, nodes in able)
            raise SystemExit(f"{text} cannot lose a node; these can: {known}")
        found += fitting
    return found if asked else able


def replaced(rows: list[dict[str, Any]], new: dict[str, Any]) -> list[dict[str, Any]]:
    """The record with this row in place of the one of the same broker and number of nodes."""

    def key(row: dict[str, Any]) -> tuple[str, int]:
        return str(row["broker"]), int(row["nodes"])

    return sorted([*(row for row in rows if key(row) != key(new)), new], key=key)


def main(asked: list[str]) -> None:
    for name, nodes in wanted(asked):
        print(f"{name} with {nodes} nodes ...", flush=True)
        row = record(broker_named(name), nodes)
        RECORD.parent.mkdir(parents=True, exist_ok=True)
        write_json(RECORD, {"schema_version": 1, "runs": replaced(read_record(RECORD), row)})
        print(json.dumps(row, indent=2), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
