"""Fixtures every test directory may use. Being here also puts tests/ on the path: `from synthetic import write_run`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The product's own Spark session, started once for the whole test run."""
    from brokerlab.pipeline.session import spark_session

    with spark_session() as session:
        yield session


# Files of tests/contract whose tests share the server of a broker and number of nodes.
ONE_SERVER = tuple(f"tests/contract/test_{name}.py" for name in ("contract", "contract_wire", "down"))


def server_of(nodeid: str) -> str:
    """Tests that share a server (or a Spark session), by name: side by side they go to one process, so that nothing is
    started twice. (pytest-xdist's own groups are marks; 3.8 does not see them with pytest 9.2.)"""
    file = nodeid.partition("::")[0]
    for with_spark in ("tests/unit/pipeline", "tests/unit/lake"):
        if file.startswith(f"{with_spark}/"):
            return with_spark
    parameter = re.search(r"\[([a-z-]*[a-z](?:-\d+)?)(?=[-\]])", nodeid) if file.startswith("tests/contract/") else None
    if parameter is None:
        return file
    return f"{'tests/contract' if file in ONE_SERVER else file} {parameter[1]}"


# What takes longest begins first, so that no process has a minute's work left when the others are done. (Tests of the
# whole program take what the tests of brokers have installed.)
LONGEST_FIRST = (
    "tests/unit/pipeline/",
    "tests/unit/lake/",
    "tests/contract/",
    "tests/integration/",
    "tests/e2e/",
    "tests/unit/",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    def place(item: pytest.Item) -> int:
        return next((i for i, where in enumerate(LONGEST_FIRST) if item.nodeid.startswith(where)), len(LONGEST_FIRST))

    items.sort(key=place)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    from xdist.scheduler import LoadScopeScheduling

    config.option.loadscopereorder = False  # it would put those with most tests first, which are the shortest

    class ByServer(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return server_of(nodeid)

    return ByServer(config, log)
