"""Rows of one layer against those of the next: what does not add up is not added."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from brokerlab.errors import MeasurementError
from brokerlab.lake.evidence import count_rows
from brokerlab.lake.manifest import File
from brokerlab.lake.survey import Part
from brokerlab.results.tables import QUARANTINED_ROW, UNREADABLE_SEGMENT

Row = dict[str, Any]
Parts = Mapping[str, Sequence[Part]]  # of one run, by table


@dataclass(frozen=True)
class EvidenceRows:
    """Bronze and silver of one run: rows of evidence_file and evidence_count."""

    files: list[Row]
    counts: list[Row]


def evidence_rows(run: str, files: list[Row], parts: Parts) -> EvidenceRows:
    """Bronze and silver of a run. MeasurementError where rows set aside and unreadable files are not those of gold."""
    counts = count_rows(run, files)
    set_aside_in_gold(run, counts, parts)
    return EvidenceRows(files, counts)


def set_aside_in_gold(run: str, counts: Sequence[Row], parts: Parts) -> None:
    """Every row and file of evidence that silver leaves out must be named in a gold table of its run. Runs analyzed by
    0.1.0 have no unreadable_segment: of them only rows are compared."""
    wanted = {QUARANTINED_ROW.name: sum(row["set_aside"] for row in counts)}
    if parts[UNREADABLE_SEGMENT.name]:
        wanted[UNREADABLE_SEGMENT.name] = sum(row["unreadable_files"] for row in counts)
    for name, n in wanted.items():
        found = sum(part.rows for part in parts[name])
        if found != n:
            raise MeasurementError(
                f"{run}: the evidence has {n} rows for {name}, its tables have {found}",
                hint=f"the evidence changed after the analysis: brokerlab analyze {run}, then add it again",
            )


def all_written(
    own: Mapping[str, list[Row]], parts: Mapping[str, Parts], files: Mapping[str, Mapping[str, Sequence[File]]]
) -> None:
    """Every table of every run must have as many rows in the lake as were read. `own` has the rows that the lake makes
    itself, by place; `parts` the files of the runs; `files` what was written, by place and run."""
    expected = {(place, run): n for place, rows in own.items() for run, n in Counter(r["run"] for r in rows).items()}
    for run, tables in parts.items():
        expected |= {(f"gold/{name}", run): sum(part.rows for part in of_table) for name, of_table in tables.items()}
    for (place, run), n in expected.items():
        written = sum(file.rows for file in files[place].get(run, ()))
        if written != n:
            raise MeasurementError(
                f"{run}: {n} rows of {place} should be in the lake, {written} were written",
                hint="nothing of its batch was added: add the run again",
            )
