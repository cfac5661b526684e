"""What a lake holds, and what the run directories beside it have that it has not."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from brokerlab.lake.reading import Lake
from brokerlab.lake.survey import Refusal, survey


@dataclass(frozen=True)
class Status:
    """`tables` are rows by table. `new` and `changed` are runs that would be added, `directory_gone` those that only the lake
    still has, `refused` directories that cannot be added."""

    lake: str
    manifest: int
    runs: tuple[str, ...]
    bytes: int
    tables: dict[str, int]
    new: tuple[str, ...]
    changed: tuple[str, ...]
    directory_gone: tuple[str, ...]
    refused: tuple[Refusal, ...]


def status(lake: Lake, directories: Iterable[Path]) -> Status:
    """The lake beside what is in `directories`."""
    manifest = lake.manifest
    found = survey(directories, manifest)
    files = [f for entry in manifest.runs.values() for of_table in entry.tables.values() for f in of_table]
    return Status(
        lake=lake.store.uri,
        manifest=manifest.number,
        runs=lake.runs(),
        bytes=sum(f.bytes for f in files),
        tables={name: sum(f.rows for f in manifest.files(place)) for place, name in lake.places()},
        new=tuple(c.run for c in found.to_do if c.run not in manifest.runs),
        changed=tuple(c.run for c in found.to_do if c.run in manifest.runs),
        directory_gone=tuple(run for run in lake.runs() if not Path(manifest.runs[run].source).is_dir()),
        refused=found.refused,
    )
