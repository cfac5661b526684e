"""A lake's address: a folder, an address of any file system that Hadoop knows, or what --lake leaves open."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from brokerlab.errors import UserError
from brokerlab.lake.store import LocalStore, Store

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

VARIABLE = "BROKERLAB_LAKE"
OFF = "off"  # as the value of the variable: runs are not added by themselves


def default_address(runs: Path) -> str:
    """BROKERLAB_LAKE, else a folder `lake` beside the runs."""
    given = os.environ.get(VARIABLE, "")
    return given if given not in ("", OFF) else str(runs.absolute().parent / "lake")


def is_kept_by_itself() -> bool:
    """Whether finished runs are added to the lake without being told to."""
    return os.environ.get(VARIABLE) != OFF


def is_local(address: str | Path) -> bool:
    """Whether the lake is a folder of this machine (or of a file system mounted here): it needs no Spark to be opened."""
    scheme, colon, _ = str(address).partition(":")
    return not colon or len(scheme) < 2 or "/" in scheme or scheme == "file"


def store_at(address: str | Path, spark: SparkSession | None = None) -> Store:
    """The store of a lake's address. Nothing is made or looked at. Other file systems than `file:` are reached through
    Hadoop, in Spark's JVM."""
    text = str(address)
    if not is_local(text):
        if spark is None:
            hint = "give a Spark session: lake.open(address, spark), or mount the file system"
            raise UserError(f"the lake {text} is reached through Spark", hint=hint)
        from brokerlab.lake.hadoop import HadoopStore

        return HadoopStore(text, spark)
    if text.startswith("file:"):
        return LocalStore(Path(unquote("/" + text.removeprefix("file:").lstrip("/"))))
    return LocalStore(Path(text).expanduser())
