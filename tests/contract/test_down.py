"""The last test on every server of the suite: files are taken in the order of their names."""

from __future__ import annotations

import os

import pytest
from contract_servers import Running


def test_a_stopped_cluster_leaves_no_process_and_no_data(server: Running) -> None:
    cluster, logs = server.cluster, server.directory / "logs"
    pids = [node.pid for node in cluster.nodes()]
    cluster.stop()
    cluster.stop()
    assert cluster.dead_nodes() == (), "a node that was stopped has not died"
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    assert list(logs.iterdir()), "logs stay"
    cluster.clean()
    cluster.clean()
    assert not (server.directory / "data").exists()
    assert list(logs.iterdir())
