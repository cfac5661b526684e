"""One analyzed synthetic run for all table tests: Spark jobs are few, oracles are many."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import SparkSession

from brokerlab.pipeline.analyze import analyze
from brokerlab.results.reader import read_rows
from brokerlab.results.tables import RESULT_TABLES
from brokerlab.results.verdict import Verdict
from synthetic import SyntheticRun, write_run

Rows = Callable[[str], list[dict[str, Any]]]


@pytest.fixture(scope="session")
def synthetic(tmp_path_factory: pytest.TempPathFactory) -> SyntheticRun:
    return write_run(tmp_path_factory.mktemp("runs") / "synthetic", seed=7)


@pytest.fixture(scope="session")
def verdict(synthetic: SyntheticRun, spark: SparkSession) -> Verdict:  # noqa: ARG001 - analyze uses the running session
    return analyze(synthetic.directory.path)


@pytest.fixture(scope="session")
def rows(synthetic: SyntheticRun, verdict: Verdict) -> Rows:  # noqa: ARG001 - the tables exist once there is a verdict
    return lambda table: read_rows(synthetic.directory, RESULT_TABLES[table])
