"""All runs under one address, read by Spark at any scale and by pyarrow for a look.

from brokerlab import lake

runs = lake.open("lake")
runs.dataset("run_summary").to_table().to_pandas()
runs.frame("run_summary", spark).where("metric = 'end_to_end_latency_p99_ns'")
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from brokerlab.lake.reading import Lake

__all__ = ["open"]


def open(address: str | Path, spark: SparkSession | None = None) -> Lake:
    """The lake at a folder or URI, in its present state. NotFoundError where there is none. A URI of another file system
    than `file:` needs a Spark session."""
    from brokerlab.lake.location import store_at
    from brokerlab.lake.reading import Lake

    return Lake(store_at(address, spark))
