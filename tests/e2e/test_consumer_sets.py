"""A set of consumers that starts after a backlog, or at a time, while producers go on: it reads everything, and every
message is accounted for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from lab import Lab, covered, rows, workload

from brokerlab.model.execution_id import ExecutionId
from brokerlab.results.reader import read_rows, read_verdict
from brokerlab.results.tables import DELIVERY, RESULT_TABLES

RATE, MESSAGE_BYTES = 2_000, 1_000
BACKLOG_BYTES = 4 * RATE * MESSAGE_BYTES  # the first four seconds of ten
SETS: list[dict[str, Any]] = [
    {"name": "tail"},
    {"name": "catch_up", "groups": 2, "agents": 1, "start": {"backlog": f"{BACKLOG_BYTES}B"}},
    {"name": "late", "per_group": 2, "start": {"after": "6s"}},
    {"name": "end", "start": "after_backlog"},
]
GROUPS = ["tail_g1", "catch_up_g1", "catch_up_g2", "late_g1", "end_g1"]
SENT = RATE * 10


@pytest.mark.timeout(900)
@pytest.mark.parametrize("broker", ["memory", "kafka"])
def test_sets_that_start_while_producers_go_on_read_everything(lab: Lab, tmp_path: Path, broker: str) -> None:
    file = workload(
        tmp_path,
        broker=broker,
        producers={"rate": f"{RATE}/s", "message": f"{MESSAGE_BYTES}B"},
        consumers=SETS,
        phases={"warm_up": "1s", "measure": "9s", "drain_limit": "120s"},
        objectives=["lost == 0", "duplicated == 0"],
    )
    said = lab.call("run", file, "--quiet", within_s=840)
    assert said.returncode in (0, 5), said.stderr  # a busy machine makes rates unbelievable, not deliveries
    run = lab.run()
    evidence = run.evidence(ExecutionId(cell="c01", repeat=1))
    arrived = rows(evidence, "sequence")
    by_group = {g: [r for r in arrived if r["group"].endswith(f"-{g}")] for g in GROUPS}
    assert {g: covered(of) for g, of in by_group.items()} == dict.fromkeys(GROUPS, SENT)
    assert sum(map(len, by_group.values())) == len(arrived)

    found = read_rows(run, DELIVERY)
    exactly = [(r["sent"], r["delivered"], r["lost"], r["duplicated"], r["unexpected"], r["drained"]) for r in found]
    assert exactly == [(SENT, SENT, 0, 0, 0, True)] * len(GROUPS)
    assert {o.met for o in read_verdict(run).objectives} == {"met"}

    started = [json.loads(e["detail"]) for e in rows(run.path / "events" / "c01-r1", "event")
               if e["kind"] == "consumers_started"]  # fmt: skip
    assert {s["consumer_set"]: s["reached"] for s in started} == {"catch_up": True, "late": True, "end": True}
    reached = next(s for s in started if s["consumer_set"] == "catch_up")
    assert BACKLOG_BYTES <= reached["sent_bytes"] < SENT * MESSAGE_BYTES  # producers went on

    sent_ns = max(
        e["at_mono_ns"] for e in rows(run.path / "events" / "c01-r1", "event") if e["kind"] == "backlog_complete"
    )
    for group in ("catch_up_g1", "catch_up_g2", "late_g1"):
        assert min(r["first_mono_ns"] for r in by_group[group]) < sent_ns, group
    assert min(r["first_mono_ns"] for r in by_group["end_g1"]) > sent_ns

    caught_up = {r["group"].rpartition("-")[2]: r for r in read_rows(run, RESULT_TABLES["catch_up"])}
    assert caught_up.keys() == set(GROUPS) - {"tail_g1"}
    assert BACKLOG_BYTES / MESSAGE_BYTES <= caught_up["catch_up_g1"]["backlog"] < SENT
    assert caught_up["end_g1"]["backlog"] == SENT
    codes = {r.code for r in read_verdict(run).reasons}
    assert not codes & {"drain_incomplete", "nothing_received", "backlog_not_reached", "counted_differently"}
