"""A run on disk as if an execution had gone on for long, with as many rows for a live page as are asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.known_run import START_UNIX_S, write_documents
from brokerlab.evidence.tables import ACTIVITY, INTERVAL
from brokerlab.evidence.writer import SegmentWriter
from brokerlab.model.execution_id import ExecutionId
from brokerlab.model.histogram import SUB_BUCKET_BITS, bucket_of
from brokerlab.model.metrics import MEASURES
from brokerlab.results.directory import RunDirectory

EXECUTION = ExecutionId(cell="c01", repeat=1)
BANDS = 8  # of each measure and second
POINTS_A_SECOND = 2 + 3 + 3 * BANDS  # rates of two roles, quantiles and bands of three measures
SEGMENT_S = 200


def write_long_run(directory: Path, points: int) -> RunDirectory:
    """At least so many rows, in segments of some minutes; one message in each band."""
    seconds = -(-points // POINTS_A_SECOND)
    write_documents(directory, "long", seconds=seconds, lanes=1, rate_per_s=float(BANDS), fault=False)
    run = RunDirectory(directory)
    for agent, role, group in (("producer-1", "producer", ""), ("consumer-g1-1", "consumer", "g1")):
        where = {"run": directory.name, "cell": "c01", "repeat": 1, "agent": agent, "role": role, "group": group, "phase": "measure"}  # fmt: skip
        writers = [(t, SegmentWriter(run.evidence(EXECUTION), agent, t)) for t in (ACTIVITY, INTERVAL)]
        for first in range(0, seconds, SEGMENT_S):
            numbers = range(first, min(first + SEGMENT_S, seconds))
            for table, writer in writers:
                rows = [_row(table.name, where, START_UNIX_S + s) for s in numbers]
                names = [n for n in table.names() if n != "host"]
                writer.add({n: [row.get(n, 0) for row in rows] for n in names})
                writer.flush()
    return run


def _row(table: str, where: dict[str, Any], second: int) -> dict[str, Any]:
    producer = where["role"] == "producer"
    counted = {"due": BANDS, "sent": BANDS, "acknowledged": BANDS} if producer else {"received": BANDS}
    row: dict[str, Any] = {
        **where,
        **counted,
        "second_unix_s": second,
        "bytes": 200 * BANDS,
        "elapsed_ns": 10**9,
        "destination": 0,
    }
    if table == "activity":
        return row
    row["sub_bucket_bits"] = SUB_BUCKET_BITS
    samples = (np.int64(100_000) << np.arange(BANDS)) + second % 1000  # an octave apart: each in a band of its own
    for measure in MEASURES:
        mine = measure.startswith("end_to_end") != producer
        buckets = bucket_of(samples).tolist() if mine else []
        row |= {f"{measure}_bucket": buckets, f"{measure}_count": [1] * len(buckets)}
        row |= {f"{measure}_min_ns": int(samples[0]), f"{measure}_max_ns": int(samples[-1]), f"{measure}_sum_ns": int(samples.sum())}  # fmt: skip
    return row
