"""`python -m benchmarks pulsar`: our agent and Pulsar's own pulsar-perf, alternately (ABBA) on one standalone broker, one
partition, journalSyncData=false, equal batches, equal windows, equal receiver queues."""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, Self

from benchmarks.alternating import alternately, lines_of_letters, without_headers
from benchmarks.figures import Round, table
from benchmarks.kafka_agent import Agent, steady_round
from benchmarks.machine import machine_line
from benchmarks.pulsar_perf import Count, PulsarPerf
from brokerlab.brokers.contract import Admin, Cluster
from brokerlab.brokers.pulsar.broker import BROKER
from brokerlab.brokers.pulsar.client import partition_topic
from brokerlab.brokers.pulsar.rest import Rest, topic_path
from brokerlab.brokers.pulsar.settings import CLIENT_DEFAULTS, namespace_of
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

SIZE = 200
WINDOW = 10_000
LEVEL = Durability.L4
WARM_UP_MESSAGES = 4_000_000
BATCHES = {
    "-bm": CLIENT_DEFAULTS["batching_max_messages"],
    "-bb": CLIENT_DEFAULTS["batching_max_allowed_size_in_bytes"],
    "-b": CLIENT_DEFAULTS["batching_max_publish_delay_ms"],
}
QUEUE = CLIENT_DEFAULTS["receiver_queue_size"]
SUBJECTS = ("publish", "consume")
Driver = Literal["auto", "native", "python"]


def main(arguments: Sequence[str]) -> str:
    parser = argparse.ArgumentParser(prog="python -m benchmarks pulsar", description=__doc__)
    parser.add_argument("subjects", nargs="*", metavar="subject", help=f"of {', '.join(SUBJECTS)}; both by default")
    parser.add_argument("--rounds", type=int, default=5, help="of each side (default 5)")
    parser.add_argument("--seconds", type=int, default=5, help="measured in each round of publishing (default 5)")
    parser.add_argument("--messages", type=int, default=6_000_000, help="of the backlog to consume (default 6,000,000)")
    parser.add_argument("--driver", choices=("auto", "native", "python"), default="auto", help="of our side")
    given = parser.parse_args(arguments)
    if wrong := [s for s in given.subjects if s not in SUBJECTS]:
        parser.error(f"no such subject: {', '.join(wrong)}; there are {', '.join(SUBJECTS)}")
    parts = [machine_line()]
    with tempfile.TemporaryDirectory(prefix="brokerlab-bench-") as name, PulsarBench(Path(name), given.driver) as bench:
        if "publish" in (given.subjects or SUBJECTS):
            parts.append(bench.publish(given.rounds, given.seconds))
        if "consume" in (given.subjects or SUBJECTS):
            parts.append(bench.consume(given.rounds, given.messages))
    return "\n".join(parts)


class PulsarBench:
    """One broker for all rounds; a topic for each round of publishing, one for all rounds of consuming."""

    def __init__(self, directory: Path, driver: Driver) -> None:
        BROKER.install(lambda _what, _share: None)
        self._directory = directory
        self._driver: Driver = driver
        self._payload = lines_of_letters(directory / "payload.txt", SIZE)
        self._our_payload = without_headers(self._payload)
        self._cell = self._cell_plan()
        self._cluster: Cluster = BROKER.cluster(self._cell, directory / "data", directory / "logs")
        self._topic = self._group = 0

    def __enter__(self) -> Self:
        self._cluster.start()
        self._cluster.wait_ready(time.monotonic_ns() + 180_000_000_000)
        endpoint = self._cluster.endpoint()
        self._admin: Admin = BROKER.admin(endpoint, self._cell)
        self._rest = Rest(endpoint)
        self._tool = PulsarPerf(BROKER.recipe.programs(), self._directory, f"pulsar://{endpoint.addresses[0]}")
        self._pid = self._cluster.nodes()[0].pid
        self._fill(self._new_topic(), WARM_UP_MESSAGES)  # of the broker's JVM: no side shall have that for itself
        return self

    def __exit__(self, *_: object) -> None:
        self._admin.close()
        self._cluster.stop()
        self._cluster.clean()

    def _cell_plan(self) -> CellPlan:
        return CellPlan(
            cell="bench", label="bench", broker="pulsar", nodes=1, durability=LEVEL, destinations=1, partitions=1,
            producers=self._producers(), consumers=ConsumersPlan(groups=1, per_group=1, agents_per_group=1),
            phases=PhasesPlan(warm_up_s=0, measure_s=3600, drain_limit_s=0), parameters={}, broker_settings={},
            client_settings={},
        )  # fmt: skip

    def _producers(self) -> ProducersPlan:
        return ProducersPlan(
            count=1,
            agents=1,
            schedule=SchedulePlan(arrival="closed", window=WINDOW),
            payload=PayloadPlan(kind="lines", path=str(self._our_payload)),
            window_limit=WINDOW,
        )

    def _new_topic(self) -> str:
        self._topic += 1
        name = f"bench-{self._topic}"
        self._admin.create((name,), 1, ())
        return name

    def _forget(self, topic: str) -> None:
        self._admin.delete((topic,), ())
        shutil.rmtree(self._directory / "evidence", ignore_errors=True)

    def _agent(self, role: Role, topic: str, phases: PhasesPlan, group: str | None = None) -> Agent:
        plan = AgentPlan(
            run="bench", cell="bench", repeat=self._topic, agent=f"{role.value}-1", run_tag=7, role=role,
            broker="pulsar", driver=self._driver, endpoint=self._cluster.endpoint(), destinations=(topic,),
            partitions=1, members=(0,), producers_in_cell=1, group=group, producers=self._producers(),
            consumers=self._cell.consumers, phases=phases, client_settings={}, durability=LEVEL,
            evidence_directory=str(self._directory / "evidence" / f"{topic}-{group}"), seed=1,
        )  # fmt: skip
        return Agent(plan, self._directory / "agent.log")

    def _fill(self, topic: str, messages: int) -> None:
        agent = self._agent(Role.PRODUCER, topic, self._cell.phases)
        agent.start()
        sent = 0
        while sent < messages:
            sent += int(agent.wait_for("live").facts.get("acknowledged", 0))
        agent.finish()

    def _stats(self, topic: str) -> dict[str, object]:
        path = topic_path(namespace_of(LEVEL), f"{topic}-partition-0")
        found: dict[str, object] = self._rest.get(f"{path}/stats")
        return found

    def _incoming(self, topic: str) -> Count:
        return lambda: int(str(self._stats(topic)["msgInCounter"]))

    def _outgoing(self, topic: str, group: str) -> Count:
        def count() -> int:
            groups = self._stats(topic)["subscriptions"]
            assert isinstance(groups, dict)
            return int(groups[group]["msgOutCounter"]) if group in groups else 0

        return count

    def publish(self, rounds: int, seconds: int) -> str:
        made = alternately(
            rounds, lambda: self._our_publish(seconds), lambda: self._their_publish(seconds), f"publish {SIZE} B"
        )
        batches = f"batches of {BATCHES['-bm']} messages, {BATCHES['-bb']} B or {BATCHES['-b']} ms"
        return table(f"Pulsar, publish {SIZE} B, {batches}, window {WINDOW:,}", *made)

    def _our_publish(self, seconds: int) -> Round:
        topic, warm_s = self._new_topic(), 2
        agent = self._agent(Role.PRODUCER, topic, PhasesPlan(warm_up_s=warm_s, measure_s=seconds + 2, drain_limit_s=0))
        agent.start()
        # The second in which counting begins is only a mark, so one more is followed.
        made = steady_round(agent, self._pid, "acknowledged", lambda s, _: warm_s < s <= warm_s + seconds + 1)
        agent.end()
        self._forget(topic)
        return made

    def _their_publish(self, seconds: int) -> Round:
        topic, warm_s = self._new_topic(), 6  # its JVM compiles meanwhile
        settings = [part for setting in BATCHES.items() for part in setting]
        arguments = ["-r", "5000000", "-o", str(WINDOW), "-f", str(self._payload), *settings]
        arguments.append(partition_topic(topic, 0, LEVEL))
        made = self._tool.round(
            "produce", arguments, self._incoming(topic), lambda s, _: warm_s <= s <= warm_s + seconds, self._pid
        )
        self._forget(topic)
        return made

    def consume(self, rounds: int, messages: int) -> str:
        topic = self._new_topic()
        self._fill(topic, messages)

        def steady(total: int) -> bool:
            return 0.3 * messages <= total < 0.95 * messages

        def ours() -> Round:
            agent = self._agent(Role.CONSUMER, topic, self._cell.phases, self._new_group())
            agent.start()
            made = steady_round(agent, self._pid, "received", lambda _, total: steady(total))
            agent.finish()
            return made

        def theirs() -> Round:
            group = self._new_group()
            arguments = ["-sp", "Earliest", "-q", QUEUE, "-ss", group, "-st", "Failover"]
            arguments.append(partition_topic(topic, 0, LEVEL))
            count = self._outgoing(topic, group)
            return self._tool.round("consume", arguments, count, lambda _, total: steady(total), self._pid)

        made = alternately(rounds, ours, theirs, f"consume {SIZE} B")
        self._forget(topic)
        return table(f"Pulsar, consume {SIZE} B from a backlog of {messages:,}, receiver queue {QUEUE}", *made)

    def _new_group(self) -> str:
        self._group += 1
        return f"group-{self._group}"
