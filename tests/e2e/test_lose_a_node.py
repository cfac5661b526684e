"""kill -9 of the leading node of a real cluster under load: what took over, for how long nothing went, what was lost. And of
the only node, which is started again: what it had acknowledged and kept, or not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from lab import Lab, rows, workload

from brokerlab.errors import ExitCode
from brokerlab.model.execution_id import ExecutionId
from brokerlab.results.reader import read_rows, read_verdict
from brokerlab.results.tables import FAULT

MEASURE_S = 20.0
BACK_S = 60.0  # for one node to come back on a busy machine


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


def test_a_node_that_is_started_again_has_kept_what_it_had_acknowledged_or_the_verdict_says_what_is_lost(
    lab: Lab, tmp_path: Path
) -> None:
    """ElasticMQ acknowledges before it writes; NATS fsyncs first. Consumers come after the kill: until then everything that
    was acknowledged is where the node keeps it."""
    file = workload(
        tmp_path,
        broker=None,
        brokers=["sqs", "nats"],
        durability="strongest",
        destinations={"count": 1, "partitions": 1},
        producers={"rate": "500/s", "message": "200B", "send_timeout": f"{BACK_S:g}s"},
        consumers={"groups": 1, "start": "after_backlog"},
        phases={"warm_up": "1s", "measure": "10s", "drain_limit": "120s"},
        faults=[{"kill": "leader", "at": "2s", "restart_after": "500ms"}],
        broker_settings={"sqs": {"storage": "file"}},
    )
    said = lab.call("run", file, "--quiet")
    run = lab.run()
    verdict = read_verdict(run)
    assert {e.state for e in run.state().executions.values()} == {"finished"}, said.stdout + said.stderr
    elastic, nats = sorted(read_rows(run, FAULT), key=lambda row: row["node"])
    assert [(row["node"], row["nodes"], row["drained"]) for row in (elastic, nats)] == [
        ("elasticmq-1", 1, True),
        ("nats-1", 1, True),
    ]
    assert elastic["lost"] > 0, said.stdout
    assert nats["lost"] == 0, said.stdout
    assert {cell.label: cell.delivery for cell in verdict.cells} == {"sqs": "valid", "nats": "valid"}, (
        "it can be believed"
    )
    assert verdict.delivery_violated
    assert said.returncode == ExitCode.DELIVERY_VIOLATED
    assert f"Delivery violated: {elastic['lost']:,} lost" in said.stdout
    for cell, row in (("c01", elastic), ("c02", nats)):
        assert 2.5 <= row["end_s"] < 10.0
        assert f"{row['node']} was killed 2." in said.stdout
        started = [
            json.loads(e["detail"])["pid"]
            for e in rows(run.events(ExecutionId(cell=cell, repeat=1)), "event")
            if (e["kind"], e["source"]) == ("node_started", row["node"])
        ]
        assert len(set(started)) == 2
