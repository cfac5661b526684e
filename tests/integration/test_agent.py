"""The agent as its runner sees it: a plan and commands in, events and evidence out; on a real memory broker."""

from __future__ import annotations

import os
import queue
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from brokerlab.brokers.contract import Cluster
from brokerlab.brokers.memory.broker import BROKER
from brokerlab.load.process import Event, TalkingProcess
from brokerlab.model.plan import (
    AgentPlan,
    CellPlan,
    ConsumersPlan,
    Durability,
    Endpoint,
    PayloadPlan,
    PhasesPlan,
    ProducersPlan,
    Role,
    SchedulePlan,
    SizeShare,
)

DEADLINE_S = 120.0
PRODUCERS = ProducersPlan(
    count=1,
    agents=1,
    schedule=SchedulePlan(rate_per_s=1000),
    payload=PayloadPlan(sizes=(SizeShare(message_bytes=100, weight=1),)),
)
CELL = CellPlan(
    cell="c01",
    label="memory",
    broker="memory",
    nodes=1,
    durability=Durability.L4,
    destinations=1,
    partitions=2,
    producers=PRODUCERS,
    consumers=ConsumersPlan(groups=1, per_group=1, agents_per_group=1),
    phases=PhasesPlan(warm_up_s=1, measure_s=2, drain_limit_s=10),
    parameters={},
    broker_settings={},
    client_settings={},
)


class Agent:
    """One agent process, and everything it has said."""

    def __init__(self, plan: AgentPlan, log: Path) -> None:
        self.evidence = Path(plan.evidence_directory)
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self.process = TalkingProcess(plan.agent, "brokerlab.agent", log, self._events)
        self.process.start(plan.model_dump_json())

    def wait_for(self, kind: str) -> dict[str, Any]:
        """The next event of this kind; fails if the agent ends without one."""
        deadline = time.monotonic() + DEADLINE_S
        while True:
            event = self._events.get(timeout=max(0.0, deadline - time.monotonic()))
            if event.kind == kind:
                return event.facts
            assert event.kind != "ended", f"ended with {event.facts} before it said {kind}: {self.process.error_text()}"

    def set_off(self) -> None:
        self.wait_for("ready")
        offset_ns = time.time_ns() - time.monotonic_ns()
        start_ns = time.monotonic_ns() + 100_000_000
        self.process.tell("start", start_mono_ns=start_ns, unix_minus_mono_ns=offset_ns)

    def rows(self, table: str, directory: Path | None = None) -> list[dict[str, Any]]:
        files = sorted(((directory or self.evidence) / table).glob("[!.]*.parquet"))
        return pa.concat_tables(pq.read_table(f) for f in files).to_pylist() if files else []

    def messages(self, *outcomes: str, directory: Path | None = None) -> int:
        found = [o for o in self.rows("outcome", directory) if o["outcome"] in outcomes]
        return sum(o["last"] - o["first"] + 1 for o in found)


Start = Callable[..., Agent]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    made = BROKER.cluster(CELL, tmp_path / "data", tmp_path / "logs")
    made.start()
    made.wait_ready(time.monotonic_ns() + round(DEADLINE_S * 1e9))
    BROKER.admin(made.endpoint(), CELL).create(("d",), 2, ("g",))
    yield made
    made.stop()
    made.clean()


@pytest.fixture
def start(cluster: Cluster, tmp_path: Path) -> Iterator[Start]:
    agents: list[Agent] = []

    def _start(role: Role = Role.PRODUCER, **changes: Any) -> Agent:
        plan = AgentPlan(
            run="run",
            cell="c01",
            repeat=1,
            agent=f"{role.value}-1",
            run_tag=1,
            role=role,
            broker="memory",
            driver="auto",
            endpoint=cluster.endpoint(),
            destinations=("d",),
            partitions=2,
            members=(0,),
            producers_in_cell=1,
            group="g" if role is Role.CONSUMER else None,
            producers=PRODUCERS,
            consumers=CELL.consumers,
            phases=CELL.phases,
            client_settings={},
            durability=Durability.L4,
            evidence_directory=str(tmp_path / "evidence"),
            seed=1,
        ).model_copy(update=changes)
        agents.append(Agent(plan, tmp_path / f"{plan.agent}.log"))
        return agents[-1]

    yield _start
    for agent in agents:
        agent.process.stop(5.0)


def test_producer_and_consumer_do_what_the_plan_says_and_tell_what_they_did(start: Start) -> None:
    consumer, producer = start(Role.CONSUMER), start()
    consumer.set_off()
    producer.set_off()
    assert producer.wait_for("live")["sent"] > 0
    done = producer.wait_for("done")
    assert (done["sent"], done["acknowledged"], done["rejected"], done["unknown"]) == (3000, 3000, 0, 0)
    highest = {(producer, partition): last for producer, partition, last in done["highest_acknowledged"]}
    assert set(highest) == {(0, 0), (0, 1)}
    assert sum(last + 1 for last in highest.values()) == 3000
    deadline = time.monotonic() + DEADLINE_S
    received = 0
    while received < 3000:
        assert time.monotonic() < deadline
        consumer.process.tell("report")
        received = sum(of["received"] for of in consumer.wait_for("report")["groups"].values())
    consumer.process.tell("finish")
    assert consumer.wait_for("done") == {"received": 3000, "corrupted": 0, "unexpected": 0}
    assert consumer.wait_for("ended") == producer.wait_for("ended") == {"exit_code": 0}
    assert producer.messages("sent") == producer.messages("acknowledged") == 3000
    assert sum(r["last"] - r["first"] + 1 for r in consumer.rows("sequence")) == 3000


@pytest.mark.parametrize("schedule", [SchedulePlan(rate_per_s=2000), SchedulePlan(arrival="closed", window=100)])
def test_a_number_of_messages_ends_the_measure_phase_of_producer_and_consumer(
    start: Start, schedule: SchedulePlan
) -> None:
    producers = PRODUCERS.model_copy(update={"schedule": schedule, "messages": 3001})
    phases = PhasesPlan(warm_up_s=0, measure_s=3600, drain_limit_s=10)
    consumer, producer = start(Role.CONSUMER, phases=phases), start(producers=producers, phases=phases)
    consumer.set_off()
    producer.set_off()
    done = producer.wait_for("done")
    assert (done["sent"], done["acknowledged"]) == (3001, 3001)
    consumer.process.tell("measured", end_mono_ns=done["sent_all_mono_ns"])
    assert consumer.wait_for("live")
    while consumer.wait_for("live")["phase"] != "drain":
        pass
    consumer.process.tell("finish")
    assert consumer.wait_for("done")["received"] == 3001
    assert {r["phase"] for r in producer.rows("interval")} == {"measure"}
    assert sum(r["due"] for r in producer.rows("interval")) == 3001


@pytest.mark.parametrize("how", ["its input ends", "SIGTERM"])
def test_an_agent_whose_runner_goes_saves_what_it_has_and_ends(start: Start, how: str) -> None:
    producer = start(phases=PhasesPlan(warm_up_s=1, measure_s=3600, drain_limit_s=10))
    producer.set_off()
    producer.wait_for("live")
    if how == "SIGTERM":
        os.kill(producer.process.pid, signal.SIGTERM)
    else:
        producer.process.let_go()
    done = producer.wait_for("done")
    assert producer.wait_for("ended") == {"exit_code": 0}
    assert producer.messages("sent") == producer.messages("acknowledged", "unknown") == done["sent"] > 0


def test_an_agent_told_to_end_early_does_not_count_what_would_have_been_due_later(start: Start) -> None:
    million = PRODUCERS.model_copy(update={"schedule": SchedulePlan(rate_per_s=1_000_000)})
    producer = start(producers=million, phases=PhasesPlan(warm_up_s=0, measure_s=3600, drain_limit_s=10))
    producer.set_off()
    producer.wait_for("live")
    began = time.monotonic()
    producer.process.tell("finish")
    producer.wait_for("done")
    elapsed_s = 60 + time.monotonic() - began
    assert sum(r["due"] for r in producer.rows("interval")) < 1_000_000 * elapsed_s


def test_what_an_agent_writes_follows_its_directory_so_the_next_attempt_stays_clean(
    start: Start, tmp_path: Path
) -> None:
    producer = start()
    producer.set_off()
    producer.wait_for("live")
    producer.evidence.rename(tmp_path / "aside")
    done = producer.wait_for("done")
    assert producer.wait_for("ended") == {"exit_code": 0}
    assert not producer.evidence.exists()
    assert producer.messages("acknowledged", directory=tmp_path / "aside") == done["acknowledged"] == 3000


def test_a_broker_that_is_not_there_is_said_so_before_anything_starts(start: Start) -> None:
    nowhere = Endpoint(addresses=("127.0.0.1:1",))
    producer = start(endpoint=nowhere)
    failed = producer.wait_for("failed")
    assert (failed["kind"], failed["exit_code"]) == ("BrokerError", 4)
    assert "127.0.0.1:1" in failed["message"]
    assert producer.wait_for("ended") == {"exit_code": 4}


def test_a_consumer_whose_broker_dies_keeps_what_had_arrived(start: Start, cluster: Cluster) -> None:
    consumer, producer = start(Role.CONSUMER), start()
    consumer.set_off()
    producer.set_off()
    assert producer.wait_for("done")["acknowledged"] == 3000
    deadline = time.monotonic() + DEADLINE_S
    while True:
        consumer.process.tell("report")
        received = sum(of["received"] for of in consumer.wait_for("report")["groups"].values())
        if received == 3000:
            break
        assert time.monotonic() < deadline
    (node,) = cluster.nodes()
    os.kill(node.pid, signal.SIGKILL)
    assert consumer.wait_for("failed")["exit_code"] == 4
    assert consumer.wait_for("ended") == {"exit_code": 4}
    assert sum(r["last"] - r["first"] + 1 for r in consumer.rows("sequence")) == 3000
