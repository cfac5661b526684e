"""Fixtures every test directory may use. Being here also puts tests/ on the path: `from synthetic import write_run`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# The machine may be busy: how long an example takes says nothing about it.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The product's own Spark session, started once for the whole test run."""
    from brokerlab.pipeline.session import spark_session

    with spark_session() as session:
        yield session


# Files of tests/contract whose tests share the server of a broker and number of nodes.
ONE_SERVER = tuple(f"tests/contract/test_{name}.py" for name in ("contract", "contract_lag", "contract_wire", "down"))


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


# What takes longest begins first, so that no process has a minute's work left when the others are done.
WITH_SPARK = ("tests/unit/pipeline/", "tests/unit/lake/")
WITH_SERVERS = ("tests/contract/", "tests/integration/")
WHOLE_PROGRAM = "tests/e2e/"


def in_order(items: list[pytest.Item]) -> list[pytest.Item]:
    """Tests with Spark, then those with servers and, spread evenly among them, those of the whole program, which mostly
    wait while a run takes its time; at last the short ones. Tests that share a server stay together."""
    spark = [item for item in items if item.nodeid.startswith(WITH_SPARK)]
    program = _groups([item for item in items if item.nodeid.startswith(WHOLE_PROGRAM)])
    servers = _groups([item for item in items if item.nodeid.startswith(WITH_SERVERS)])
    rest = [item for item in items if not item.nodeid.startswith((*WITH_SPARK, *WITH_SERVERS, WHOLE_PROGRAM))]
    places = [((i + 1) / (len(groups) + 1), group) for groups in (servers, program) for i, group in enumerate(groups)]
    spread = [item for _, group in sorted(places, key=lambda place: place[0]) for item in group]
    return [*sorted(spark, key=lambda item: server_of(item.nodeid), reverse=True), *spread, *rest]


def _groups(items: list[pytest.Item]) -> list[list[pytest.Item]]:
    """Items by server, in the order in which their servers first appear."""
    groups: dict[str, list[pytest.Item]] = {}
    for item in items:
        groups.setdefault(server_of(item.nodeid), []).append(item)
    return list(groups.values())


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items[:] = in_order(items)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    from xdist.scheduler import LoadScopeScheduling

    config.option.loadscopereorder = False  # it would put those with most tests first, which are the shortest

    class ByServer(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return server_of(nodeid)

    return ByServer(config, log)
