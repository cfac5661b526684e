"""Is the lake what its manifest says? Reads every footer and adds up the layers again."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import pyarrow as pa

from brokerlab.lake.manifest import Entry, kept
from brokerlab.lake.reading import Lake
from brokerlab.lake.store import Store
from brokerlab.lake.tables import PLACES
from brokerlab.results.tables import QUARANTINED_ROW


@dataclass(frozen=True)
class Checked:
    """`problems` is empty where all is well. `unused` files are in no kept manifest: a writer is at work, or died."""

    runs: int
    files: int
    bytes: int
    rows: int
    problems: tuple[str, ...]
    unused: tuple[str, ...]


def check(lake: Lake) -> Checked:
    """Compare the files with the manifest: present, of the recorded size, with the recorded rows; then layer with
    layer."""
    there = {path: size for place in PLACES for path, size in lake.store.files(place).items()}
    entries = [entry for _, entry in sorted(lake.manifest.runs.items())]
    files = [file for entry in entries for of_table in entry.tables.values() for file in of_table]
    problems = [text for entry in entries for text in _file_problems(lake.store, entry, there)]
    if not problems:
        problems = _layer_problems(lake)
    named = {f.path for m in kept(lake.store) for e in m.runs.values() for of in e.tables.values() for f in of}
    return Checked(
        runs=len(entries),
        files=len(files),
        bytes=sum(f.bytes for f in files),
        rows=sum(f.rows for f in files),
        problems=tuple(problems),
        unused=tuple(path for path in there if path not in named),
    )


def _file_problems(store: Store, entry: Entry, there: dict[str, int]) -> list[str]:
    found = []
    for file in (file for of_table in entry.tables.values() for file in of_table):
        if file.path not in there:
            found.append(f"{file.path} is not there")
        elif there[file.path] != file.bytes:
            found.append(f"{file.path} has {there[file.path]} bytes, the manifest says {file.bytes}")
        else:
            try:
                rows = store.rows(file.path)
            except (pa.ArrowException, OSError, ValueError) as error:
                found.append(f"{file.path} cannot be read: {' '.join(str(error).split())[:200]}")
                continue
            if rows != file.rows:
                found.append(f"{file.path} has {rows} rows, the manifest says {file.rows}")
    if entry.rows("gold/runs") != 1:
        found.append(f"{entry.run} has {entry.rows('gold/runs')} rows in runs, it must have one")
    return found


def _layer_problems(lake: Lake) -> list[str]:
    """Bronze rows = silver rows = good + set aside; set aside = rows of quarantined_row. By run."""
    bronze = _sums(lake, "evidence_file", "rows")
    silver = _sums(lake, "evidence_count", "rows", "good", "set_aside")
    found = []
    for run, entry in sorted(lake.manifest.runs.items()):
        (files,) = bronze.get(run, (0,))
        rows, good, set_aside = silver.get(run, (0, 0, 0))
        quarantined = entry.rows(f"gold/{QUARANTINED_ROW.name}")
        if not files == rows == good + set_aside:
            found.append(
                f"{run}: {files} rows in bronze, {rows} in silver, of these {good} good, {set_aside} set aside"
            )
        if set_aside != quarantined:
            found.append(f"{run}: {set_aside} rows set aside in silver, {quarantined} in {QUARANTINED_ROW.name}")
    return found


def _sums(lake: Lake, table: str, *columns: str) -> dict[str, tuple[int, ...]]:
    sums: dict[str, tuple[int, ...]] = defaultdict(lambda: (0,) * len(columns))
    read = lake.rows(table, ["run", *columns])
    for run, *values in zip(*(read[name].to_pylist() for name in read.column_names), strict=True):
        sums[run] = tuple(a + b for a, b in zip(sums[run], values, strict=True))
    return sums
