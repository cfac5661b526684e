"""One started server per broker and number of nodes for the whole suite; destinations are new for every test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from contract_load import cell_for
from contract_servers import Running, running_server, server_parameters, weakest_level

from brokerlab.brokers.registry import broker_named


@pytest.fixture(scope="session", params=server_parameters())
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    name, nodes = request.param
    broker = broker_named(name)
    cell = cell_for(name, nodes, weakest_level(broker, nodes))
    with running_server(broker, cell, tmp_path_factory.mktemp(f"{name}-{nodes}")) as running:
        yield running


@pytest.fixture
def running(server: Running) -> Iterator[Running]:
    yield server
    server.end_test()
