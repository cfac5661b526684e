"""A Kafka that answers JMX in every way the stacks ask, a known load on it, and both stacks pointed at it."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from kafka_load import agent, cell, publish, soon, started

from brokerlab.brokers.contract import Cluster
from brokerlab.brokers.kafka.broker import BROKER
from brokerlab.install.java import find_java
from brokerlab.model.blocks import ACKNOWLEDGED
from brokerlab.model.plan import Durability, Role
from brokerlab.monitor.stacks import control
from brokerlab.monitor.stacks.jmx_rules import rules
from brokerlab.monitor.stacks.prometheus import given_targets
from brokerlab.monitor.stacks.tables import beans_by_group
from brokerlab.monitor.stacks.targets import parse_targets
from brokerlab.processes.ports import HeldPorts

NODE = "kafka-1"


@dataclass
class Watched:
    """A Kafka node and the stacks that watch it."""

    cluster: Cluster
    directory: Path
    graphite_url: str
    prometheus_url: str

    def status(self, stack: str) -> dict[str, Any]:
        answer = control.status(stack, self.directory)
        assert answer is not None
        return answer

    def scrape_too(self, target: str) -> None:
        """Prometheus reads the file of what it was given again when it changes."""
        (more,) = given_targets(parse_targets("--scrape", [target]))
        file = self.directory / "prometheus" / "data" / "given.json"
        file.write_text(json.dumps([*json.loads(file.read_text()), more]))

    def send(self, topic: str, messages: int) -> None:
        """Every message is acknowledged when this returns."""
        endpoint = self.cluster.endpoint()
        BROKER.admin(endpoint, cell(1, Durability.L4)).create((topic,), 2, ())
        producer = BROKER.producer(agent(Role.PRODUCER, endpoint, (topic,)), 0)
        assert set(publish(producer, messages).values()) == {ACKNOWLEDGED}
        producer.close(soon())


@contextmanager
def watched_kafka(directory: Path) -> Iterator[Watched]:
    plan = cell(1, Durability.L4, broker_settings={"jmx.remote": "true"})
    with started(plan, directory / "kafka") as cluster:
        agent_at = attach_prometheus_agent(cluster, directory)
        stacks = directory / "stacks"
        try:
            graphite = control.up("graphite", jmx=[f"{NODE}={cluster.nodes()[0].urls['jmx']}"], directory=stacks)
            prometheus = control.up("prometheus", scrape=[f"{NODE}={agent_at}"], directory=stacks)
            yield Watched(cluster, stacks, graphite["addresses"]["web"], prometheus["addresses"]["web"])
        finally:
            for stack in control.STACKS:
                if control.status(stack, stacks) is not None:
                    control.down(stack, stacks)


def attach_prometheus_agent(cluster: Cluster, directory: Path) -> str:
    """The agent that the Prometheus stack brings along, with the rules from the table of metrics. Its address."""
    from brokerlab.monitor.stacks.programs import prometheus_programs

    java = find_java()
    jcmd = java and shutil.which("jcmd", path=f"{java.home / 'bin'}:{java.path.parent}")
    if not jcmd:
        pytest.skip("needs jcmd, which comes with a JDK, to attach the agent")
    rules_file = directory / "rules.yml"
    rules_file.write_text(rules(beans_by_group()))
    port = HeldPorts(1).numbers[0]
    option = f"127.0.0.1:{port}:{rules_file}"
    jar = prometheus_programs(lambda _w, _s: None).jmx_agent
    command = [jcmd, str(cluster.nodes()[0].pid), "JVMTI.agent_load", str(jar), option]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return f"127.0.0.1:{port}"


def eventually(what: str, holds: Callable[[], object], within_s: float = 120.0) -> None:
    deadline, last = time.monotonic() + within_s, None
    while True:
        try:
            last = holds()
            if last:
                return
        except OSError as e:  # a server that is being started again
            last = e
        assert time.monotonic() < deadline, f"{what}: {last}"
        time.sleep(0.2)
