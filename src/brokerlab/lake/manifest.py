"""The manifest: which files are the lake. What no manifest names is not part of it, so a writer that dies changes nothing.

    lake.json                      marks the folder as a lake, and says which format it has
    manifests/00000007.json        the seventh state; the highest number is the present one

A commit creates the next number. Of two writers with the same idea of the present state one creates it; the other reads
the new state and tries again on top of that.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from pydantic import Field, ValidationError

from brokerlab import __version__
from brokerlab.errors import DamagedFileError, MachineError, NotFoundError, UserError
from brokerlab.lake.store import Store
from brokerlab.model.document import SCHEMA_VERSION, Document, SchemaVersion

LAKE_FILE = "lake.json"
MANIFESTS = "manifests"
KEPT = 20  # earlier manifests: a reader that has just opened one still finds its files
COMMIT_ATTEMPTS = 50

T = TypeVar("T", bound=Document)


class LakeFile(Document):
    """lake.json"""

    schema_version: SchemaVersion = SCHEMA_VERSION
    brokerlab: str = __version__
    made_unix_s: float = 0.0


class File(Document):
    """One Parquet file. `path` is relative to the lake."""

    path: str
    bytes: int
    rows: int


class Entry(Document):
    """One run in the lake. `tables` holds its files by "layer/table"; a table without rows has none."""

    run: str
    source: str  # the run directory it was made from
    inputs: str  # fingerprint of what it was made from: the same fingerprint is not processed again
    brokerlab: str
    batch: str
    tables: dict[str, tuple[File, ...]]

    def rows(self, table: str) -> int:
        return sum(file.rows for file in self.tables.get(table, ()))


class Manifest(Document):
    schema_version: SchemaVersion = SCHEMA_VERSION
    number: int
    brokerlab: str = __version__
    committed_unix_s: float = 0.0
    runs: dict[str, Entry] = Field(default_factory=dict)

    def files(self, table: str) -> list[File]:
        """The files of one "layer/table", run by run."""
        return [file for _, entry in sorted(self.runs.items()) for file in entry.tables.get(table, ())]


def init(store: Store) -> None:
    """Make an empty lake. UserError where there is a lake already."""
    if is_lake(store):
        raise UserError(f"{store.uri} is a lake already", hint=_ADD)
    if not _made(store):
        raise UserError(f"{store.uri} is a lake already: another process has just made it", hint=_ADD)


def init_where_missing(store: Store) -> None:
    """There is a lake afterwards, whoever made it."""
    if not is_lake(store):
        _made(store)


def _made(store: Store) -> bool:
    """Write the files of an empty lake; whether this process was the one that made it. lake.json comes last: until then
    there is no lake, and what a process that died in between has left is taken over."""
    with suppress(FileExistsError):
        store.create(_name(0), _json(Manifest(number=0, committed_unix_s=time.time())))
    try:
        store.create(LAKE_FILE, _json(LakeFile(made_unix_s=time.time())))
    except FileExistsError:
        return False
    return True


def present(store: Store) -> Manifest:
    """The newest state. NotFoundError where there is no lake; DamagedFileError where its files cannot be read."""
    try:
        _parsed(store, LAKE_FILE, LakeFile)
    except FileNotFoundError:
        raise NotFoundError(f"there is no lake at {store.uri}", hint="brokerlab lake init makes one") from None
    while True:
        numbers = _numbers(store)
        if not numbers:
            raise DamagedFileError(f"{store.uri}/{MANIFESTS}", "there is no manifest", hint=_AGAIN)
        try:
            return _parsed(store, _name(numbers[-1]), Manifest)
        except FileNotFoundError:
            continue  # many commits happened since its name was read


def kept(store: Store) -> list[Manifest]:
    """The present state and the earlier ones that are kept."""
    found = []
    for number in _numbers(store):
        try:
            found.append(_parsed(store, _name(number), Manifest))
        except FileNotFoundError:
            continue
    return found


def commit(store: Store, change: Callable[[Manifest], dict[str, Entry]]) -> Manifest:
    """Make the runs that `change` returns the present state. `change` is called again, with the newer state, whenever
    another writer was faster. Where it returns the runs it was given, nothing is written."""
    for _ in range(COMMIT_ATTEMPTS):
        before = present(store)
        runs = change(before)
        if runs == before.runs:
            return before
        after = Manifest(number=before.number + 1, committed_unix_s=time.time(), runs=runs)
        try:
            store.create(_name(after.number), _json(after))
        except FileExistsError:
            continue
        for number in _numbers(store)[: -KEPT - 1]:
            store.delete(_name(number))
        return after
    raise MachineError(
        f"{store.uri}: other writers were faster {COMMIT_ATTEMPTS} times", hint="nothing was added: add again later"
    )


_ADD = "brokerlab lake add adds runs to it"
_AGAIN = "put it back from a copy; or delete the lake, and brokerlab lake init and lake add make it from the runs"


def is_lake(store: Store) -> bool:
    """Whether there is a lake."""
    return LAKE_FILE in store.names("")


def _name(number: int) -> str:
    return f"{MANIFESTS}/{number:08d}.json"


def _numbers(store: Store) -> list[int]:
    stems = (name.removesuffix(".json") for name in store.names(MANIFESTS) if name.endswith(".json"))
    return sorted(int(stem) for stem in stems if stem.isdigit())


def _json(value: Document) -> bytes:
    return (json.dumps(value.model_dump(mode="json"), indent=1) + "\n").encode()


def _parsed(store: Store, path: str, model: type[T]) -> T:
    try:
        return model.model_validate_json(store.read(path))
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise DamagedFileError(f"{store.uri}/{path}", f"{where}: {first['msg']}", hint=_AGAIN) from error
