"""One started server per broker and number of nodes for the whole suite; destinations are new for every test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from contract_servers import Running, server_parameters, shared_server

from brokerlab.brokers.registry import broker_named


@pytest.fixture(scope="session", params=server_parameters())
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    name, nodes = request.param
    with shared_server(name, nodes, tmp_path_factory.mktemp(f"{name}-{nodes}")) as running:
        yield running


@pytest.fixture
def running(server: Running) -> Iterator[Running]:
    yield server
    server.end_test()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """A wire stands before one node only. All tests of a server have the same parameters, so that it is started once:
    those that break a wire are taken out here for the others, and are long for brokers that are slow to come back."""
    without = []
    for item in items:
        name, nodes = item.callspec.params.get("server", ("", 1)) if hasattr(item, "callspec") else ("", 1)
        if not name or "wired" not in getattr(item, "fixturenames", ()):
            continue
        if nodes != 1:
            without.append(item)
        elif broker_named(name).test_hints.slow_to_start:
            item.add_marker(pytest.mark.slow)
    if without:
        config.hook.pytest_deselected(items=without)
        items[:] = [item for item in items if item not in without]
