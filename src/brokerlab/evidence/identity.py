"""Which segment a file is, by its own footer: a file that is there twice is counted once, whatever it is called."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Protocol, TypeVar

import pyarrow as pa

SEGMENT_KEY = b"brokerlab.segment"


@dataclass(frozen=True)
class Identity:
    """The `number`th segment of a table by one writer, in one attempt at one execution of a run."""

    run: str
    execution: str  # "c01-r1"
    attempt: int
    writer: str
    number: int

    @classmethod
    def of(cls, schema: pa.Schema) -> Identity | None:
        """As the footer says; None in files of writers that did not say it (before 0.2.0)."""
        said = (schema.metadata or {}).get(SEGMENT_KEY)
        try:
            return None if said is None else cls(**json.loads(said))
        except (ValueError, TypeError):
            return None

    def encoded(self) -> bytes:
        return json.dumps(asdict(self)).encode()

    @property
    def file_name(self) -> str:
        return f"{self.writer}-{self.number:06d}.parquet"


@dataclass(frozen=True)
class Expected:
    """What the documents of a run say of its segments. Empty: nothing is known, and nothing is refused for it."""

    run: str = ""
    attempts: Mapping[str, int] = field(default_factory=dict)  # by execution

    def problem(self, identity: Identity | None, execution: str) -> str | None:
        """Why a segment of this identity does not belong to an execution's evidence; None where it does."""
        if identity is None:
            return None
        if self.run and identity.run != self.run:
            return f"belongs to the run {identity.run}"
        if identity.execution != execution:
            return f"belongs to {identity.execution}"
        attempt = self.attempts.get(execution, 0)
        if attempt and identity.attempt != attempt:
            return f"belongs to attempt {identity.attempt}, which was cut off; attempt {attempt} is the one that counts"
        return None


class HasIdentity(Protocol):
    @property
    def path(self) -> Path: ...
    @property
    def identity(self) -> Identity | None: ...


File = TypeVar("File", bound=HasIdentity)


def repeated(files: Iterable[File]) -> dict[Path, tuple[Path, bool]]:
    """The files of one table that are there already: their path -> (path of the one that counts, whether all bytes are
    the same). Files that do not say which segment they are count as one where all bytes are the same."""
    alike: dict[Hashable, list[File]] = defaultdict(list)
    nameless: dict[int, list[File]] = defaultdict(list)
    for file in files:
        if file.identity is not None:
            alike[file.identity].append(file)
        else:
            nameless[file.path.stat().st_size].append(file)
    for of_size in nameless.values():
        if len(of_size) > 1:
            for file in of_size:
                alike[_digest(file.path)].append(file)
    found: dict[Path, tuple[Path, bool]] = {}
    for copies in alike.values():
        if len(copies) > 1:
            first, *others = sorted(copies, key=lambda f: (f.identity is not None and f.path.name != f.identity.file_name, str(f.path)))  # fmt: skip
            found |= {o.path: (first.path, _digest(o.path) == _digest(first.path)) for o in others}
    return found


def _digest(path: Path) -> str:
    with path.open("rb") as f:
        return hashlib.file_digest(f, "sha256").hexdigest()
