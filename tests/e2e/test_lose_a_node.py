"""kill -9 of the leading node of a real cluster under load: what took over, for how long nothing went, what was lost."""

from __future__ import annotations

from pathlib import Path

import pytest
from lab import Lab, rows, workload

from brokerlab.model.execution_id import ExecutionId
from brokerlab.results.reader import read_rows, read_verdict
from brokerlab.results.tables import FAULT

MEASURE_S = 20.0


@pytest.mark.parametrize("broker", ["nats", pytest.param("kafka", marks=pytest.mark.slow)])
def test_a_replicated_broker_survives_the_death_of_its_leader(lab: Lab, tmp_path: Path, broker: str) -> None:
    file = workload(
        tmp_path,
        broker=broker,
        cluster={"nodes": 3},
        durability="L2",
        destinations={"count": 1, "partitions": 1},
        producers={"rate": "200/s", "message": "200B", "send_timeout": "15s"},
        phases={"warm_up": "1s", "measure": f"{MEASURE_S:g}s", "drain_limit": "120s"},
        faults=[{"kill": "leader", "at": "3s"}],
        # Kafka's own default; ours is longer than this run, so that a busy machine alone takes no node away.
        broker_settings={"kafka": {"broker.session.timeout.ms": "9000"}} if broker == "kafka" else {},
    )
    said = lab.call("run", file, "--quiet")
    run = lab.run()
    verdict = read_verdict(run)
    assert run.state().executions["c01-r1"].state == "finished", said.stdout + said.stderr
    assert verdict.delivery["acknowledged"] > 0
    assert verdict.delivery["lost"] == 0, said.stdout
    assert not {"broker_died", "broker_failed", "fault_missing"} & {r.code for r in verdict.reasons}
    (fault,) = read_rows(run, FAULT)
    assert fault["was_leading"]
    assert fault["took_over"].startswith(f"{broker}-")
    assert fault["took_over"] != fault["node"]
    assert fault["took_over_after_s"] > 0
    assert fault["publish_recovered"], "it never came back"
    assert fault["delivery_recovered"]
    assert 3.0 <= fault["at_s"] < MEASURE_S
    assert f"{fault['took_over']} took over after" in said.stdout
    (begun,) = [e for e in rows(run.events(ExecutionId(cell="c01", repeat=1)), "event") if e["kind"] == "fault_begun"]
    assert fault["node"] in begun["detail"]
    assert "What the fault did" in run.report_file.read_text()
