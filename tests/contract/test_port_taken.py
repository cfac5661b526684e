"""Somebody else listens where a server wants to: the error names the reason, not only what the server said last."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from contract_load import cell_for, deadline
from contract_servers import every_broker, weakest_level
from installing import installed

from brokerlab.brokers.registry import broker_named
from brokerlab.errors import BrokerError


@pytest.mark.parametrize("name", every_broker(slow=lambda broker: not broker.test_hints.taken_port_in_every_run))
def test_a_port_that_is_taken_is_told(name: str, tmp_path: Path) -> None:
    broker = broker_named(name)
    installed(broker)
    nodes = min(broker.capabilities.nodes)
    cluster = broker.cluster(cell_for(name, nodes, weakest_level(broker, nodes)), tmp_path / "data", tmp_path / "logs")
    host, port = cluster.endpoint().addresses[0].rsplit(":", 1)
    try:
        with socket.create_server((host, int(port))):
            cluster.start()
            with pytest.raises(BrokerError) as told:
                cluster.wait_ready(deadline(60))
    finally:
        cluster.stop()
        cluster.clean()
    assert "in use" in str(told.value).lower()
