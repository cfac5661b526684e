"""The Graphite stack: collectd and jmxtrans write to carbon, which keeps whisper files that graphite-web serves."""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from brokerlab.monitor.stacks import collectd, graphite_files, jmxtrans
from brokerlab.monitor.stacks.asking import graphite as ask_graphite
from brokerlab.monitor.stacks.graphite_files import GraphiteLayout
from brokerlab.monitor.stacks.programs import GraphitePrograms
from brokerlab.monitor.stacks.stack import Stack
from brokerlab.monitor.stacks.tables import JVM_GROUP, beans_by_group
from brokerlab.monitor.stacks.targets import Target
from brokerlab.processes.ports import HeldPorts

HOST_NAME = "host"  # collectd's name of this machine: series must not depend on it
_NOT_OURS = ("PYTHONPATH", "PYTHONHOME", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "CLASSPATH")
_PROOF = "brokerlab.stack.ready"


class GraphiteStack(Stack):
    """See Stack. jmxtrans runs only where there are JVMs to poll."""

    def __init__(
        self, programs: GraphitePrograms, jvms: Sequence[Target], data: Path, logs: Path, web_port: int | None = None
    ) -> None:
        super().__init__(data, logs, programs.versions)
        self._programs, self._jvms = programs, list(jvms)
        self._held = HeldPorts(4)
        line, pickle, query, free_web_port = self._held.numbers
        self._at = GraphiteLayout(data / "graphite", line, pickle, query, web_port or free_web_port)
        env = {name: value for name, value in os.environ.items() if name not in _NOT_OURS}
        self._add_graphite(env)
        self.child(
            "collectd", "reads this host every second", collectd.command(programs.collectd, data / "collectd.conf"), env
        )
        if programs.jmxtrans is not None and programs.java is not None:
            command = jmxtrans.command(programs.java, programs.jmxtrans, data)
            self.child("jmxtrans", "reads the JVMs' beans every second", command, env)

    def _add_graphite(self, env: dict[str, str]) -> None:
        at, python = self._at, self._programs.python
        carbon = [str(python), str(python.parent / "carbon-cache.py"), f"--config={at.conf / 'carbon.conf'}"]
        pid_file = at.storage / "carbon-cache-a.pid"
        # A killed carbon leaves its pid file, and then the next one refuses to start.
        self.child("carbon", "keeps the points in whisper files", [*carbon, "--nodaemon", "start"],
                   env | {"GRAPHITE_ROOT": str(at.home)}, lambda: pid_file.unlink(missing_ok=True))  # fmt: skip
        web = [str(python), "-m", "django", "runserver", "--noreload", "--insecure", f"127.0.0.1:{at.web_port}"]
        more = graphite_files.WEB_ENVIRONMENT | {"PYTHONPATH": str(at.conf), "SECRET_KEY": secrets.token_urlsafe(48)}
        self.child("graphite-web", "answers questions, draws", web, env | more)

    def write_files(self) -> None:
        at = self._at
        for folder in at.folders():
            folder.mkdir(parents=True, exist_ok=True)
        files = {
            at.conf / "carbon.conf": graphite_files.carbon_conf(at),
            at.conf / "storage-schemas.conf": graphite_files.storage_schemas(),
            at.conf / "storage-aggregation.conf": graphite_files.storage_aggregation(),
            at.conf / "local_settings.py": graphite_files.local_settings(at),
            self.data / "collectd.conf": collectd.collectd_conf(self._programs.collectd, self.data / "collectd", HOST_NAME, at.line_port),
            self.data / "logback.xml": jmxtrans.LOGBACK,
            self.data / "jmxtrans.json": jmxtrans.configuration(self._jvms, beans_by_group(), at.line_port),
        }  # fmt: skip
        if not self._programs.has_cairo:
            files[at.conf / "cairocffi.py"] = graphite_files.NO_CAIRO
        for path, text in files.items():
            path.write_text(text)
        shutil.copyfile(self._programs.empty_database, at.database)

    def proofs(self) -> dict[str, Callable[[], bool]]:
        found: dict[str, Callable[[], bool]] = {
            "a point of ours from carbon's port to graphite-web's answer": self._own_point_arrived,
            "a point of collectd in graphite-web's answer": lambda: self._has(
                f"{collectd.PREFIX}{HOST_NAME}.load.load.shortterm"
            ),
        }
        heap = next(row for row in beans_by_group()[JVM_GROUP] if row.metric == "heap_used_bytes")
        for jvm in self._jvms:
            expression = jmxtrans.series(jvm.name, JVM_GROUP, heap)
            found[f"a point of the JVM {jvm.name} at {jvm.address} in graphite-web's answer"] = lambda e=expression: (
                self._has(e)
            )  # type: ignore[misc]
        return found

    def _own_point_arrived(self) -> bool:
        with socket.create_connection(("127.0.0.1", self._at.line_port), timeout=5.0) as carbon:
            carbon.sendall(f"{_PROOF} 1 {int(time.time())}\n".encode())
        return self._has(_PROOF)

    def _has(self, expression: str) -> bool:
        return any(one.points for one in ask_graphite(self.addresses()["web"], expression))

    def addresses(self) -> dict[str, str]:
        return {"web": f"http://127.0.0.1:{self._at.web_port}", "carbon": f"127.0.0.1:{self._at.line_port}"}
