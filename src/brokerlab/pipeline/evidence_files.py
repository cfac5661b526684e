"""evidence_file: what was read, so that a lake need not read it again."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa

from brokerlab.evidence.segments import QUARANTINE, ROOTS
from brokerlab.evidence.tables import MESSAGE
from brokerlab.model.arrow import arrow_schema
from brokerlab.model.plan import RunPlan
from brokerlab.pipeline.bronze import READ, Bronze, reads_messages
from brokerlab.results.tables import EVIDENCE_FILE


def with_file_names(rejected: pa.Table, run_directory: Path) -> pa.Table:
    """Rows of quarantined_row with the paths of files within the run directory."""
    names = [Path(path).relative_to(run_directory).as_posix() for path in rejected["file"].to_pylist()]
    at = rejected.schema.get_field_index("file")
    return rejected.set_column(at, rejected.schema.field("file"), pa.array(names, pa.string()))


def evidence_files(run_directory: Path, bronze: Bronze, quarantined: pa.Table) -> pa.Table:
    """Rows of evidence_file, computed columns alone, in order of their paths."""
    set_aside = Counter(quarantined["file"].to_pylist())
    rows = [
        _row(run_directory, segment.path.relative_to(run_directory), segment.table, segment.execution)
        | {"rows": segment.rows, "reason": ""}
        for of_table in bronze.segments.values()
        for segment in of_table
    ]
    rows += [
        _row(run_directory, bad.path, bad.table, bad.execution) | {"rows": 0, "reason": bad.reason}
        for bad in bronze.unreadable
    ]
    for row in rows:
        row["set_aside"] = set_aside[row["file"]]
    rows.sort(key=lambda row: str(row["file"]))
    return pa.Table.from_pylist(rows, arrow_schema(EVIDENCE_FILE.computed()))


def files_now(run_directory: Path, plan: RunPlan) -> dict[str, tuple[int, int]]:
    """(bytes, time of writing) of every file that an analysis would look at, by path within the run directory."""
    tables = [table.name for table in (*READ, *([MESSAGE] if reads_messages(plan) else []))]
    roots = [*ROOTS, *(f"{QUARANTINE}/{root}" for root in ROOTS)]
    found = {}
    for path in (p for root in roots for table in tables for p in (run_directory / root).glob(f"*/{table}/*.parquet")):
        if not path.name.startswith("."):
            facts = path.stat()
            found[path.relative_to(run_directory).as_posix()] = (facts.st_size, facts.st_mtime_ns)
    return found


def _row(run_directory: Path, name: Path, table: str, execution: str) -> dict[str, Any]:
    facts = (run_directory / name).stat()
    return {
        "file": name.as_posix(),
        "table": table,
        "execution": execution,
        "bytes": facts.st_size,
        "modified_unix_ns": facts.st_mtime_ns,
    }
