"""Being here puts tests/contract on the path: `from contract_servers import running_server`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "contract"))
from contract_servers import Running


@pytest.fixture
def running(server: Running) -> Iterator[Running]:
    """The one server of a file, which has a fixture `server`; with destinations and drivers of the test's own."""
    yield server
    server.end_test()
