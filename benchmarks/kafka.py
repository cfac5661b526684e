"""Kafka: our agent and Kafka's own tools, alternately (ABBA) on one broker, one partition, equal acks, batch and linger."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

from benchmarks import kafka_tools
from benchmarks.alternating import alternately, lines_of_letters, said, without_headers
from benchmarks.figures import Round, table
from benchmarks.kafka_agent import Agent, steady_round
from brokerlab.brokers.contract import Admin, Cluster
from brokerlab.brokers.kafka.broker import BROKER
from brokerlab.brokers.kit.jolokia import agent_and_jars
from brokerlab.brokers.registry import broker_named
from brokerlab.model.header import HEADER_BYTES
from brokerlab.model.plan import (
    AgentPlan,
    CellPlan,
    ConsumersPlan,
    Durability,
    PayloadPlan,
    PhasesPlan,
    ProducersPlan,
    Role,
    SchedulePlan,
)

WINDOW = 100_000
PRODUCER_SETTINGS = {"acks": "all", "linger.ms": "5", "batch.size": "16384"}
CONSUMER_SETTINGS = {"fetch.min.bytes": "65536", "max.partition.fetch.bytes": "4194304"}
WARM_UP_RECORDS = 12_000_000
LOG4J = "status=error\nrootLogger.level=off\n"


def _nothing(_what: str, _share: float) -> None:
    """No progress is shown: everything is installed before the first round."""


class KafkaBench:
    """One broker for all rounds; a topic for each round, deleted after it."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        BROKER.install(_nothing)
        programs = BROKER.recipe.programs()
        self._java, self._jars = programs.java.path, agent_and_jars(programs.jars)
        self._log_config = directory / "log4j2.properties"
        self._log_config.write_text(LOG4J)
        self._broker = broker_named("kafka")
        self._cell = self._cell_plan()
        self._cluster: Cluster = self._broker.cluster(self._cell, directory / "data", directory / "logs")
        self._topic = 0

    def __enter__(self) -> KafkaBench:
        self._cluster.start()
        self._cluster.wait_ready(time.monotonic_ns() + 120_000_000_000)
        self._admin: Admin = self._broker.admin(self._cluster.endpoint(), self._cell)
        self._pid = self._cluster.nodes()[0].pid
        self._warm_up()
        return self

    def _warm_up(self) -> None:
        """A broker's JVM doubles its speed in its first ten million messages: no side shall have that for itself."""
        topic = self._new_topic()
        self._fill(topic, 200, WARM_UP_RECORDS)
        self._forget(topic)

    def __exit__(self, *_: object) -> None:
        self._admin.close()
        self._cluster.stop()
        self._cluster.clean()

    def _cell_plan(self) -> CellPlan:
        return CellPlan(
            cell="bench", label="bench", broker="kafka", nodes=1, durability=Durability.L4, destinations=1, partitions=1,
            producers=self._producers(None), consumers=ConsumersPlan(groups=1, per_group=1, agents_per_group=1),
            phases=PhasesPlan(warm_up_s=0, measure_s=3600, drain_limit_s=0), parameters={},
            broker_settings={"file.delete.delay.ms": "1000"}, client_settings=PRODUCER_SETTINGS,
        )  # fmt: skip

    def _producers(self, payload: Path | None) -> ProducersPlan:
        return ProducersPlan(
            count=1,
            agents=1,
            schedule=SchedulePlan(arrival="closed", window=WINDOW),
            payload=PayloadPlan(kind="lines", path=str(payload)),
            window_limit=WINDOW,
        )

    def _payload(self, size: int) -> Path:
        """Lines of random letters, the same for both sides; ours are shorter by the header, so messages are equal."""
        return lines_of_letters(self._directory / f"payload-{size}.txt", size)

    def _new_topic(self) -> str:
        self._topic += 1
        name = f"bench-{self._topic}"
        self._admin.create((name,), 1, ())
        return name

    def _agent_plan(self, role: Role, topic: str, payload: Path | None, settings: dict[str, str]) -> AgentPlan:
        return AgentPlan(
            run="bench", cell="bench", repeat=self._topic, agent=f"{role.value}-1", run_tag=7, role=role, broker="kafka",
            driver="auto", endpoint=self._cluster.endpoint(), destinations=(topic,), partitions=1, members=(0,),
            producers_in_cell=1, group="bench-ours" if role is Role.CONSUMER else None,
            producers=self._producers(payload), consumers=self._cell.consumers, phases=self._cell.phases,
            client_settings=settings, durability=Durability.L4,
            evidence_directory=str(self._directory / "evidence" / str(self._topic)), seed=1,
        )  # fmt: skip

    def our_publish(self, payload: Path, warm_s: int, measure_s: int) -> Round:
        topic = self._new_topic()
        plan = self._agent_plan(Role.PRODUCER, topic, payload, PRODUCER_SETTINGS)
        phases = PhasesPlan(warm_up_s=warm_s, measure_s=measure_s + 2, drain_limit_s=0)
        agent = Agent(plan.model_copy(update={"phases": phases}), self._directory / "agent.log")
        agent.start()
        # The second in which counting begins is only a mark, so one more is followed.
        round_ = steady_round(agent, self._pid, "acknowledged", lambda s, _: warm_s < s <= warm_s + measure_s + 1)
        agent.end()
        self._forget(topic)
        return round_

    def their_publish(self, payload: Path, records: int) -> Round:
        topic = self._new_topic()
        endpoint = self._cluster.endpoint().addresses[0]
        settings = {**PRODUCER_SETTINGS, "buffer.memory": "67108864"}
        made = kafka_tools.produce(
            self._java, self._jars, self._log_config, endpoint, topic, payload, records, settings, self._pid
        )
        self._forget(topic)
        return made

    def _forget(self, topic: str) -> None:
        self._admin.delete((topic,), ())
        shutil.rmtree(self._directory / "evidence", ignore_errors=True)

    def publish(self, size: int, rounds: int, records: int, seconds: int) -> str:
        theirs_file = self._payload(size)
        ours_file = without_headers(theirs_file)
        ours, theirs = alternately(
            rounds,
            lambda: self.our_publish(ours_file, 4, seconds),
            lambda: self.their_publish(theirs_file, records),
            f"publish {size} B",
        )
        return table(f"Kafka, publish {size} B, {said(PRODUCER_SETTINGS)}, window {WINDOW:,}", ours, theirs)

    def consume(self, size: int, rounds: int, records: int) -> str:
        topic = self._new_topic()
        self._fill(topic, size, records)
        endpoint = self._cluster.endpoint().addresses[0]
        number = iter(range(10_000))

        def ours() -> Round:
            plan = self._agent_plan(Role.CONSUMER, topic, None, CONSUMER_SETTINGS)
            plan = plan.model_copy(update={"group": f"ours-{next(number)}"})
            agent = Agent(plan, self._directory / "agent.log")
            agent.start()
            round_ = steady_round(agent, self._pid, "received", lambda _, total: records / 2 <= total < records)
            agent.finish()
            return round_

        def theirs() -> Round:
            return kafka_tools.consume(
                self._java, self._jars, self._log_config, endpoint, topic, records, f"theirs-{next(number)}",
                CONSUMER_SETTINGS, self._pid,
            )  # fmt: skip

        made = alternately(rounds, ours, theirs, f"consume {size} B")
        self._forget(topic)
        return table(f"Kafka, consume {size} B from a backlog of {records:,}, {said(CONSUMER_SETTINGS)}", *made)

    def _fill(self, topic: str, size: int, records: int) -> None:
        payload = self._payload(size - HEADER_BYTES)
        agent = Agent(self._agent_plan(Role.PRODUCER, topic, payload, PRODUCER_SETTINGS), self._directory / "agent.log")
        agent.start()
        sent = 0
        while sent < records:
            sent += int(agent.wait_for("live").facts.get("acknowledged", 0))
        agent.finish()
