"""No process of a RabbitMQ cluster outlives it: nodes, their helpers, and the port mapper that Erlang leaves behind."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

from rabbitmq_load import QUORUM, cell, processes_of, soon, started

from brokerlab.install.cache import silent

CHILD = """
import json, sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from rabbitmq_load import QUORUM, cell, soon
directory = Path(sys.argv[1])
cluster = QUORUM.cluster(cell("quorum"), directory / "data", directory / "logs")
cluster.start()
cluster.wait_ready(soon())
print(json.dumps([n.pid for n in cluster.nodes()]), flush=True)
time.sleep(600)
"""


def wait_until_gone(directory: Path, but: int | None = None) -> None:
    until = soon()
    while left := [pid for pid in processes_of(directory) if pid != but]:
        assert time.monotonic_ns() < until, f"still there: {left}"
        time.sleep(0.05)


def commands(directory: Path) -> list[str]:
    found = []
    for pid in processes_of(directory):
        try:
            found.append(Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue
    return found


def test_a_stopped_cluster_leaves_no_process_not_even_the_port_mapper(tmp_path: Path) -> None:
    with started(cell("quorum"), tmp_path) as cluster:
        running = commands(tmp_path)
        assert any("epmd" in c and "127.0.0.1" in c for c in running), "the port mapper is ours, on loopback"
        (node,) = cluster.nodes()
        assert Path(f"/proc/{node.pid}/comm").read_text() == "beam.smp\n", "the node itself, not a shell above it"
        cluster.stop()
        assert cluster.dead_nodes() == ()
        wait_until_gone(tmp_path)


def test_killing_the_parent_takes_nodes_and_port_mapper_with_it(tmp_path: Path) -> None:
    assert QUORUM.install(silent).installed
    # Its own arguments name the directory too, so it is told apart by its pid.
    with subprocess.Popen(
        [sys.executable, "-c", CHILD, str(tmp_path), str(Path(__file__).parent)], stdout=subprocess.PIPE
    ) as parent:
        assert parent.stdout is not None
        assert json.loads(parent.stdout.readline()), "it is running"
        assert any("epmd" in c for c in commands(tmp_path))
        parent.send_signal(signal.SIGKILL)
        parent.wait()
    wait_until_gone(tmp_path)
