"""The Prometheus stack: Prometheus scrapes its node exporter, itself, and what it is pointed at, once a second."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import yaml

from brokerlab.monitor.stacks.asking import prometheus as ask_prometheus
from brokerlab.monitor.stacks.jmx_rules import rules
from brokerlab.monitor.stacks.programs import PrometheusPrograms
from brokerlab.monitor.stacks.stack import Stack
from brokerlab.monitor.stacks.tables import beans_by_group
from brokerlab.monitor.stacks.targets import Target
from brokerlab.processes.ports import HeldPorts

HOST_JOB, OWN_JOB, GIVEN_JOB = "host", "brokerlab", "given"
_COLLECTORS = ("cpu", "diskstats", "filesystem", "loadavg", "meminfo", "netdev", "pressure", "stat")
_KEPT = "7d"
OWN_ADDRESS = "127.0.0.1:9464"  # where `--export prometheus` listens unless it says otherwise


class PrometheusStack(Stack):
    """See Stack. `given` are addresses with a page of metrics at /metrics: brokerlab's own, JVMs with an agent, any."""

    def __init__(
        self, programs: PrometheusPrograms, given: Sequence[Target], data: Path, logs: Path, web_port: int | None = None
    ) -> None:
        super().__init__(data, logs, programs.versions)
        self._programs, self._given = programs, list(given)
        self._held = HeldPorts(2)
        free_web_port, self._host_port = self._held.numbers
        self._web_port = web_port or free_web_port
        env = dict(os.environ)
        host = [str(programs.node_exporter), f"--web.listen-address=127.0.0.1:{self._host_port}"]
        host += ["--collector.disable-defaults", *(f"--collector.{name}" for name in _COLLECTORS)]
        self.child("node-exporter", "tells what this host does", host, env)
        server = [
            str(programs.prometheus), f"--config.file={data / 'prometheus.yml'}", f"--storage.tsdb.path={data / 'points'}",
            f"--storage.tsdb.retention.time={_KEPT}", f"--web.listen-address=127.0.0.1:{self._web_port}", "--log.level=warn",
        ]  # fmt: skip
        self.child("prometheus", "scrapes, keeps the points, answers questions", server, env)

    def write_files(self) -> None:
        (self.data / "prometheus.yml").write_text(
            configuration(
                f"127.0.0.1:{self._web_port}", f"127.0.0.1:{self._host_port}", OWN_ADDRESS, self.data / "given.json"
            )
        )
        (self.data / "given.json").write_text(json.dumps(given_targets(self._given), indent=1))
        (self.data / "jmx-rules.yml").write_text(rules(beans_by_group()))

    def proofs(self) -> dict[str, Callable[[], bool]]:
        found: dict[str, Callable[[], bool]] = {
            "a sample of the node exporter in Prometheus' answer": lambda: self._has("node_load1"),
        }
        for target in self._given:
            expression = f'up{{job="{GIVEN_JOB}",node="{target.name}"}} == 1'
            found[f"a page of metrics at {target.address} ({target.name})"] = lambda e=expression: self._has(e)  # type: ignore[misc]
        return found

    def _has(self, expression: str) -> bool:
        return any(one.points for one in ask_prometheus(self.addresses()["web"], expression))

    def addresses(self) -> dict[str, str]:
        return {"web": f"http://127.0.0.1:{self._web_port}", "node exporter": f"127.0.0.1:{self._host_port}"}

    def more_facts(self) -> dict[str, object]:
        agent = f"-javaagent:{self._programs.jmx_agent}=127.0.0.1:PORT:{self.data / 'jmx-rules.yml'}"
        return {**super().more_facts(), "java_option": agent, "given": [f"{t.name}={t.address}" for t in self._given]}


def configuration(web: str, host: str, own: str, given_file: Path) -> str:
    """prometheus.yml. What is given stands in a file of its own, which Prometheus reads again when it changes."""
    every = {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "15s"}
    jobs = [
        {"job_name": HOST_JOB, "static_configs": [{"targets": [host]}]},
        {"job_name": "prometheus", "scrape_interval": "15s", "static_configs": [{"targets": [web]}]},
        # Ours is there while a run or a monitor exports; what a page says of itself is kept, whatever we call it.
        {"job_name": OWN_JOB, "honor_labels": True, "static_configs": [{"targets": [own]}]},
        {
            "job_name": GIVEN_JOB,
            "honor_labels": True,
            "file_sd_configs": [{"files": [str(given_file)], "refresh_interval": "5s"}],
            # As our table calls what the JMX agent tells by itself.
            "metric_relabel_configs": [{"source_labels": ["area"], "regex": "(.+)", "target_label": "jvm_memory_type"}],
        },
    ]
    return yaml.safe_dump({"global": every, "scrape_configs": jobs}, sort_keys=False)


def given_targets(given: Sequence[Target]) -> list[dict[str, object]]:
    """Every target with its name as label `node`, unless its own page says another one."""
    return [{"targets": [t.address], "labels": {"node": t.name}} for t in given]
