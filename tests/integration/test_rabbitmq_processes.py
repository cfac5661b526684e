"""No process of a RabbitMQ cluster outlives its parent: nodes, their helpers, and the port mapper that Erlang leaves
behind. (A cluster that is stopped: see test_rabbitmq_queues.)"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

from rabbitmq_load import QUORUM, commands, wait_until_gone

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
