"""ElasticMQ as a child process on loopback."""

from __future__ import annotations

from pathlib import Path

from brokerlab.brokers.contract import NodeInfo
from brokerlab.brokers.kit.http_link import HttpLink
from brokerlab.brokers.kit.java_cluster import JavaCluster
from brokerlab.brokers.kit.local import HOST, trial_destination
from brokerlab.brokers.kit.recipes import JavaServer
from brokerlab.brokers.sqs.admin import SqsAdmin
from brokerlab.brokers.sqs.protocol import queue_name, requests_to
from brokerlab.brokers.sqs.settings import server_settings
from brokerlab.model.plan import CellPlan
from brokerlab.model.watched import beans_of
from brokerlab.model.watched_here import JVM

NAME = "elasticmq-1"
_HEAP_MB = 1024


class ElasticCluster(JavaCluster):
    """One node; see brokers.contract.Cluster."""

    def __init__(self, cell: CellPlan, server: JavaServer, directory: Path, logs: Path) -> None:
        super().__init__(cell, directory, logs, ports=3)
        port, self._statistics_port, self._jolokia_port = self._held.numbers
        self._client_ports = [port]
        self._home = self._directory / NAME
        options = [f"-Xms{_HEAP_MB}m", f"-Xmx{_HEAP_MB}m", f"-Dconfig.file={self._home / 'elasticmq.conf'}"]
        self._processes = [self._java_with_agent(NAME, server, options, ["org.elasticmq.server.Main"])]

    def start(self) -> None:
        self._write_files(NAME, self._jolokia_port, beans_of(JVM.values()))
        storage = server_settings(self._cell.broker_settings)["storage"]
        text = configuration(self._client_ports[0], self._statistics_port, self._home if storage == "file" else None)
        (self._home / "elasticmq.conf").write_text(text)
        self._start_processes()

    def wait_ready(self, deadline_mono_ns: int) -> None:
        self._wait("an answer to SendMessage", self._written, deadline_mono_ns)

    def _written(self) -> bool:
        admin, requests = SqsAdmin(self.endpoint(), self._cell), requests_to(self.endpoint())
        with trial_destination(admin) as name, HttpLink.session(self.endpoint()) as link:
            url = requests.call(link, "GetQueueUrl", QueueName=queue_name(name, 0))["QueueUrl"]
            sent = requests.call(link, "SendMessage", QueueUrl=url, MessageBody="ready?")
        return "MessageId" in sent

    def nodes(self) -> tuple[NodeInfo, ...]:
        urls = {
            "statistics": f"http://{HOST}:{self._statistics_port}/statistics/queues",
            "jolokia": self._jolokia_urls([self._jolokia_port])[0],
        }
        return self._nodes_at([urls])


def configuration(port: int, statistics_port: int, kept_in: Path | None) -> str:
    """elasticmq.conf. Queues and messages are kept in files of `kept_in`, if there is one."""
    kept = ""
    if kept_in is not None:
        queues, messages = (
            str(kept_in / name).replace("\\", "\\\\").replace('"', '\\"') for name in ("queues.conf", "messages")
        )
        kept = (
            f'queues-storage {{ enabled = true, path = "{queues}" }}\n'
            f'messages-storage {{ enabled = true, uri = "jdbc:h2:{messages}" }}\n'
        )
    return (
        'include classpath("application.conf")\n'
        f'node-address {{ protocol = http, host = "{HOST}", port = {port}, context-path = "" }}\n'
        f'rest-sqs {{ enabled = true, bind-hostname = "{HOST}", bind-port = {port}, sqs-limits = strict }}\n'
        f'rest-stats {{ enabled = true, bind-hostname = "{HOST}", bind-port = {statistics_port} }}\n'
        f"{kept}"
    )
