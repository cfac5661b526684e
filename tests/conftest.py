"""Fixtures every test directory may use. Being here also puts tests/ on the path: `from synthetic import write_run`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The product's own Spark session, started once for the whole test run."""
    from brokerlab.pipeline.session import spark_session

    with spark_session() as session:
        yield session
