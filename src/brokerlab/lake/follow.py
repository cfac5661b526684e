"""A run that goes on, kept current in the lake: a Structured Streaming job over its closed segments.

The stream is a list of files: Spark's checkpoint remembers which were handed out, and in which batch. What is done with a
batch is in pipeline.so_far, and is the same when it is done twice. After every batch the run's rows in the lake are replaced
as a whole by one commit. There is no watermark, so no segment is too late.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlparse

from brokerlab.errors import BrokerlabError, MachineError
from brokerlab.evidence.segments import ROOTS
from brokerlab.lake.ingest import put_followed
from brokerlab.lake.store import Store
from brokerlab.lake.survey import FOLLOWED, Candidate, inputs_of
from brokerlab.pipeline.so_far import RunSoFar, SoFar
from brokerlab.results.directory import RunDirectory
from brokerlab.results.run_state import in_progress

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

EVERY_S = 30.0
FILES_AT_ONCE = 20_000  # in a batch
_FILE = "path STRING, modificationTime TIMESTAMP, length LONG, content BINARY"  # Spark's schema of `binaryFile`


class _Batches:
    """What the stream calls with each batch of closed segments."""

    def __init__(self, run: RunSoFar, store: Store, spark: SparkSession, say: Callable[[str], None]) -> None:
        self._run, self._store, self._spark, self._say = run, store, spark, say
        self.over = threading.Event()  # the run was added to the lake by its own end
        self.failed: BrokerlabError | None = None

    def __call__(self, files: DataFrame, number: int) -> None:
        paths = [Path(unquote(urlparse(p).path)) for p in files.select("path").toArrow()["path"].to_pylist()]
        try:
            self._run.add(self._spark, number, paths)
            self.bring_up_to_date()
        except BrokerlabError as error:  # Spark would wrap it in a text
            self.failed = error
            raise

    def bring_up_to_date(self) -> SoFar | None:
        """The lake has what all batches so far come to."""
        if self.over.is_set():
            return None
        try:
            found = self._run.make(self._spark)
        except (
            FileNotFoundError
        ):  # an execution is being set aside for a new attempt: its segments come in a later batch
            return None
        if found is None:
            return None
        tables = self._run.tables
        candidate = Candidate(tables.plan().run, tables, FOLLOWED + inputs_of(tables), self._run.run.path)
        if put_followed(self._store, candidate, lambda: self._spark):
            self._say(f"{found.segments:,} segments, {found.rows:,} rows of evidence are in the lake")
        else:
            self.over.set()
        return found


def follow(
    run: RunDirectory,
    store: Store,
    spark: SparkSession,
    *,
    every_s: float = EVERY_S,
    once: bool = False,
    say: Callable[[str], None] = lambda _: None,
) -> None:
    """Keep the rows of `run` in the lake current until it has ended, or bring in `once` what there is. Goes on where an
    earlier call stopped or was killed."""
    so_far = RunSoFar(run)
    with so_far.alone():
        batches = _Batches(so_far, store, spark, say)
        batches.bring_up_to_date()  # the lake may be another one, or was not reached the last time
        query = _query(so_far, spark, batches, None if once else every_s)
        try:
            while not once and in_progress(so_far.run) and query.isActive and not batches.over.is_set():
                query.awaitTermination(1)
            if once:
                query.awaitTermination()
            elif query.isActive and not batches.over.is_set():
                query.processAllAvailable()
        except Exception as error:
            raise batches.failed or MachineError(f"the stream ended: {str(error).splitlines()[0]}") from error
        finally:
            query.stop()
        if batches.failed is not None:
            raise batches.failed
        batches.bring_up_to_date()  # state.json may have changed after the last segment


def _query(so_far: RunSoFar, spark: SparkSession, batches: _Batches, every_s: float | None) -> StreamingQuery:
    files = (
        spark.readStream.format("binaryFile")
        .schema(_FILE)
        .option("maxFilesPerTrigger", FILES_AT_ONCE)
        .load(f"file://{so_far.run.path}/{{{','.join(ROOTS)}}}/*/*/*.parquet")  # those being written begin with a dot
    )
    writer = files.select("path").writeStream.foreachBatch(batches)
    writer = writer.option("checkpointLocation", f"file://{so_far.checkpoint}")
    started = (
        writer.trigger(availableNow=True) if every_s is None else writer.trigger(processingTime=f"{every_s:g} seconds")
    )
    return started.start()
