"""`run --export`: the series that come out are those of the run, and a carbon that is not there costs it nothing."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from brokerlab.results.directory import RunDirectory

WITHIN_S = 400.0
WORKLOAD = """
name: exported
question: Do the series that come out agree with the run?
broker: memory
producers: {count: 1, rate: 500/s, message: 100B}
consumers: {groups: 1, per_group: 1}
phases: {warm_up: 1s, measure: 8s, drain_limit: 60s}
repeats: 1
retries: 0
"""


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


class Carbon:
    """Keeps every line it gets."""

    def __init__(self) -> None:
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = self._server.getsockname()[1]
        self._lines = bytearray()
        self._thread = threading.Thread(target=self._take)
        self._thread.start()

    def _take(self) -> None:
        connection, _ = self._server.accept()
        with connection:
            while data := connection.recv(65536):
                self._lines += data

    def last(self) -> dict[str, float]:
        """Path -> its last value, when the sender has gone."""
        self._thread.join(WITHIN_S)
        self._server.close()
        return {path: float(value) for path, value, _ in map(str.split, self._lines.decode().splitlines())}


class Page(threading.Thread):
    """Reads the page again and again until it is gone; keeps the last one."""

    def __init__(self, port: int) -> None:
        super().__init__()
        self._url = f"http://127.0.0.1:{port}/metrics"
        self.latest = ""
        self.ended = threading.Event()

    def run(self) -> None:
        while not self.ended.wait(0.3):
            try:
                with urllib.request.urlopen(self._url, timeout=5) as page:
                    self.latest = page.read().decode()
            except OSError:
                continue


@pytest.mark.timeout(600)
def test_what_comes_out_agrees_with_the_verdict(tmp_path: Path) -> None:
    (tmp_path / "w.yaml").write_text(WORKLOAD)
    carbon, port = Carbon(), free_port()
    page = Page(port)
    page.start()
    export = f"prometheus=127.0.0.1:{port},graphite=127.0.0.1:{carbon.port}"
    command = [sys.executable, "-m", "brokerlab.cli.main", "run", str(tmp_path / "w.yaml"), "--no-lake"]
    try:
        said = subprocess.run(
            [*command, "--runs", str(tmp_path / "runs"), "--export", export],
            capture_output=True, text=True, timeout=WITHIN_S, check=False,
        )  # fmt: skip
    finally:
        page.ended.set()
        page.join()
    assert "exporting to prometheus" in said.stderr, said.stderr
    assert " lost" not in said.stderr.split("graphite")[-1].splitlines()[0]
    (path,) = (tmp_path / "runs").iterdir()
    verdict = RunDirectory(path).verdict()
    assert verdict is not None
    last = carbon.last()
    assert last["brokerlab.load.c01.sent_messages_total"] == verdict.delivery["sent"]
    assert last["brokerlab.load.c01.received_messages_total"] == verdict.delivery["received"]
    families = {f.name: f for f in text_string_to_metric_families(page.latest)}
    assert {
        "messaging_client_sent_messages",
        "brokerlab_end_to_end_duration_seconds",
        "brokerlab_host_load1",
    } <= families.keys()
    (sent,) = families["messaging_client_sent_messages"].samples
    assert sent.labels == {"cell": "c01", "messaging_system": "memory"}
    assert 0 < sent.value <= verdict.delivery["sent"]


@pytest.mark.timeout(600)
def test_a_carbon_that_is_not_there_changes_nothing_but_a_note(tmp_path: Path) -> None:
    (tmp_path / "w.yaml").write_text(WORKLOAD)
    command = [sys.executable, "-m", "brokerlab.cli.main", "run", str(tmp_path / "w.yaml"), "--no-lake"]
    begun = time.monotonic()
    said = subprocess.run(
        [*command, "--runs", str(tmp_path / "runs"), "--export", f"graphite=127.0.0.1:{free_port()}"],
        capture_output=True, text=True, timeout=WITHIN_S, check=False,
    )  # fmt: skip
    assert time.monotonic() - begun < WITHIN_S
    (line,) = (line for line in said.stderr.splitlines() if line.startswith("graphite"))
    assert "0 points sent" in line
    assert "lost" in line
    assert "refused" in line
    (path,) = (tmp_path / "runs").iterdir()
    verdict = RunDirectory(path).verdict()
    assert verdict is not None
    assert verdict.complete
    assert verdict.delivery["sent"] == verdict.delivery["received"]
