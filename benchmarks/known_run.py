"""The documents of a run of one execution, for evidence that no agent wrote."""

from __future__ import annotations

from pathlib import Path

from brokerlab.model.environment import CellEnvironment, Clock, ClockPair, DurabilityFacts, Environment, Host
from brokerlab.model.execution_id import ExecutionId
from brokerlab.model.plan import (
    CellPlan,
    ConsumersPlan,
    Durability,
    PayloadPlan,
    PhasesPlan,
    ProducersPlan,
    RunPlan,
    SchedulePlan,
    SizeShare,
)
from brokerlab.results.directory import RunDirectory, write_json

START_UNIX_S = 1_800_000_000
START_MONO_NS = 5_000_000_000_000
MEASURE_MONO_NS = START_MONO_NS  # there is no warm-up


def mono_ns(seconds: float) -> int:
    """So many seconds after the start."""
    return START_MONO_NS + int(seconds * 1e9)


def write_documents(
    directory: Path, name: str, *, seconds: int, lanes: int, rate_per_s: float, fault: bool, keep_messages: bool = False
) -> None:
    """plan.json, environment.json and state.json of one finished execution of one cell."""
    run = RunDirectory(directory)
    cell = CellPlan.model_validate(
        {
            "cell": "c01", "label": "kafka", "broker": "kafka", "nodes": 1, "durability": Durability.L4,
            "destinations": 1, "partitions": lanes,
            "producers": ProducersPlan(
                count=1, agents=1, schedule=SchedulePlan.model_validate({"arrival": "uniform", "rate_per_s": rate_per_s}),
                payload=PayloadPlan(sizes=(SizeShare(message_bytes=200, weight=1.0),)),
            ),
            "consumers": ConsumersPlan(groups=1, per_group=1, agents_per_group=1),
            "phases": PhasesPlan(warm_up_s=0.0, measure_s=float(seconds), drain_limit_s=20.0),
            "keep_messages": keep_messages, "parameters": {"broker": "kafka"}, "broker_settings": {}, "client_settings": {},
            **({"faults": [{"kind": "kill", "target": "leader", "at_s": 5.0}]} if fault else {}),
        }
    )  # fmt: skip
    plan = RunPlan(
        run=directory.name, name=name, question="What does the pipeline make of known facts?",
        workload_file="known.yaml", workload_text="broker: kafka\n", overrides=(), fingerprint="0" * 64, tag=None,
        seed=0, repeats=1, cells=(cell,), order=(ExecutionId(cell="c01", repeat=1),), objectives=(),
    )  # fmt: skip
    directory.mkdir(parents=True, exist_ok=True)
    write_json(directory / "plan.json", plan.model_dump(mode="json"))
    facts = CellEnvironment(
        broker="kafka", version="4.3.1", nodes=1, driver_path="python", effective_settings={},
        durability=DurabilityFacts(level="L4", because={}),
    )  # fmt: skip
    run.write(
        "environment.json",
        Environment(
            run=plan.run, brokerlab="0.2.0", python="3.11.7", java="17.0.15", native_library="none",
            host=Host(name="nowhere", cpu_count=2, cpu_model="imaginary", memory_bytes=8 << 30, kernel="6.1"),
            clock=Clock(start=ClockPair(mono_ns=START_MONO_NS, unix_ns=START_UNIX_S * 10**9)), cells={"c01": facts},
        ),
    )  # fmt: skip
    ended = {"state": "finished", "reason": None, "started_unix_s": START_UNIX_S,
             "ended_unix_s": START_UNIX_S + seconds + 5, "drained": True}  # fmt: skip
    write_json(directory / "state.json", {"schema_version": 1, "executions": {"c01-r1": ended}})
