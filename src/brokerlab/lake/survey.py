"""Which runs a lake has to process: those that are new or have changed. All others get their answer here, without Spark."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

import pyarrow as pa

from brokerlab.errors import DamagedFileError
from brokerlab.evidence.compacted import COMPACTED
from brokerlab.evidence.segments import QUARANTINE, ROOTS
from brokerlab.lake.manifest import Manifest
from brokerlab.lake.tables import declarations
from brokerlab.model.arrow import later_columns, schema_problem
from brokerlab.results.directory import RunDirectory
from brokerlab.results.run_state import in_progress
from brokerlab.results.tables import RESULT_TABLES

FOLLOWED = "followed:"  # before the fingerprint of a run that goes on: any other replaces it
DOCUMENTS = ("plan.json", "environment.json", "state.json", "verdict.json")


class Why(Enum):
    """Why a run is not added."""

    IN_PROGRESS = "in progress"
    NOT_ANALYZED = "not analyzed"
    NO_PLAN = "no plan"
    DAMAGED = "damaged"
    DOUBLE = "two runs with one id"
    WATCHED = "without load"
    MISMATCH = "its layers do not add up"


@dataclass(frozen=True)
class Refusal:
    """A directory that is not added, with the reason and what to do."""

    path: Path
    why: Why
    text: str


@dataclass(frozen=True)
class Part:
    """One file of a result table; `later` are columns that its writer did not have yet."""

    path: Path
    rows: int
    later: tuple[str, ...]


@dataclass(frozen=True)
class Candidate:
    """A run to process, by the name its plan gives it. `inputs` is the fingerprint of its files. Of a run that is followed
    while it goes on, `directory` has documents and tables as they are so far, and `source` is its own directory."""

    run: str
    directory: RunDirectory
    inputs: str
    source: Path | None = None

    @property
    def made_from(self) -> Path:
        """The run directory that its rows were made from."""
        return (self.source or self.directory.path).resolve()

    def has_changed(self) -> bool:
        """Its files are others than those that were surveyed."""
        return inputs_of(self.directory) != self.inputs.removeprefix(FOLLOWED)


@dataclass(frozen=True)
class Survey:
    to_do: tuple[Candidate, ...]
    same: tuple[str, ...]  # runs that the lake has as they are
    refused: tuple[Refusal, ...]


def survey(directories: Iterable[Path], manifest: Manifest) -> Survey:
    """Look at every directory that holds a run. Directories without a sign of a run are passed over."""
    refused: list[Refusal] = []
    found: dict[str, list[Candidate]] = defaultdict(list)
    for path in directories:
        try:
            candidate = _candidate(path)
        except DamagedFileError as damaged:
            candidate = Refusal(path, Why.DAMAGED, str(damaged))
        if isinstance(candidate, Refusal):
            refused.append(candidate)
        elif candidate is not None:
            found[candidate.run].append(candidate)
    to_do, same = [], []
    for run, copies in sorted(found.items()):
        others = _others(copies, manifest)
        if others:
            refused += [
                Refusal(c.directory.path, Why.DOUBLE, _double(c, others)) for c in copies if _differs(c, others)
            ]
            copies = [c for c in copies if not _differs(c, others)]
        for candidate in copies:
            if run in manifest.runs and manifest.runs[run].inputs == candidate.inputs:
                same.append(run)
            else:
                to_do.append(candidate)
    return Survey(tuple(to_do), tuple(same), tuple(refused))


def runs_below(root: Path) -> list[Path]:
    """Everything under `root` that may be a run, oldest first; names that begin with a dot are being made or deleted."""
    return sorted(p for p in root.iterdir() if p.is_dir() and not p.name.startswith(".")) if root.is_dir() else []


def inputs_of(directory: RunDirectory) -> str:
    """Fingerprint of a run's files by name, size and time of writing, and of the columns that this version stores."""
    digest = hashlib.sha256(declarations().encode())
    for path in _inputs(directory.path):
        facts = path.stat()
        name = path.relative_to(directory.path).as_posix()
        digest.update(f"{name}\0{facts.st_size}\0{facts.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def parts_of(directory: RunDirectory) -> dict[str, list[Part]]:
    """The files of every result table, checked. DamagedFileError where one cannot be read as that table."""
    import pyarrow.parquet as pq

    hint = f"brokerlab analyze {directory.name} makes the tables again from the evidence"
    found: dict[str, list[Part]] = {}
    for name, table in RESULT_TABLES.items():
        found[name] = []
        for path in sorted((directory.tables / name).glob("*.parquet")):
            try:
                with pq.ParquetFile(path) as file:
                    schema, rows = file.schema_arrow, file.metadata.num_rows
            except (pa.ArrowException, OSError, ValueError) as error:
                raise DamagedFileError(path, " ".join(str(error).split())[:200], hint=hint) from error
            wrong = schema_problem(schema, table)
            if wrong is not None:
                raise DamagedFileError(path, wrong, hint=hint)
            found[name].append(Part(path, rows, tuple(c.name for c in later_columns(schema, table))))
    return found


def _candidate(path: Path) -> Candidate | Refusal | None:
    directory = RunDirectory(path)
    if not (path / "plan.json").is_file():
        if any((path / name).exists() for name in (*ROOTS, "state.json", "environment.json")):
            return Refusal(path, Why.NO_PLAN, f"{path} has no plan.json: put it back from a copy, or delete {path}")
        return None
    if in_progress(directory):
        return Refusal(path, Why.IN_PROGRESS, f"{path.name} is in progress: add it when it has finished")
    plan = directory.plan()
    run = plan.run
    if plan.kind == "monitor":
        return Refusal(path, Why.WATCHED, f"{path.name} is a monitoring run; the lake holds runs with load")
    if directory.verdict() is None:
        text = f"{path.name} has not been analyzed: brokerlab analyze {path.name} makes its tables"
        return Refusal(path, Why.NOT_ANALYZED, text)
    directory.state()
    directory.environment()
    parts_of(directory)
    return Candidate(run, directory, inputs_of(directory))


def _inputs(path: Path) -> Iterator[Path]:
    yield from (path / name for name in DOCUMENTS if (path / name).is_file())
    for root in (*ROOTS, QUARANTINE, "tables"):
        files = sorted(p for p in (path / root).rglob("*") if p.is_file() and not p.name.startswith("."))
        yield from (p for p in files if COMPACTED not in p.parts)  # it says what the segments say


def _others(copies: list[Candidate], manifest: Manifest) -> list[Path]:
    """The directories that claim the run's id, where there are several. One that the lake already has keeps it."""
    paths = [c.directory.path.resolve() for c in copies]
    known = manifest.runs.get(copies[0].run)
    if known is not None:
        source = Path(known.source)
        if source in paths or (source / "plan.json").is_file():
            return [source] if set(paths) != {source} else []
    return paths if len(paths) > 1 else []


def _differs(candidate: Candidate, others: list[Path]) -> bool:
    """Whether this directory is not the one that may keep the id."""
    return len(others) > 1 or candidate.directory.path.resolve() != others[0]


def _double(candidate: Candidate, others: list[Path]) -> str:
    rest = ", ".join(str(p) for p in others if p != candidate.directory.path.resolve())
    return f"{candidate.directory.path} has the id {candidate.run}, as {rest} has: delete or move one of them"
