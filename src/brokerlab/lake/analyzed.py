"""Analyzed runs from a lake, by pyarrow alone: what `compare`, `history` and `export` read."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TypeVar

import pyarrow as pa
from pydantic import ValidationError

from brokerlab.errors import DamagedFileError, NotFoundError
from brokerlab.lake.reading import Lake
from brokerlab.lake.survey import FOLLOWED
from brokerlab.lake.tables import DOCUMENTS, RUNS
from brokerlab.model.environment import Environment
from brokerlab.model.plan import RunPlan
from brokerlab.model.state import RunState
from brokerlab.model.tables import Table
from brokerlab.results.compare.measured import Found, measured, named_in_progress
from brokerlab.results.verdict import Verdict

T = TypeVar("T")


class LakeRun:
    """One run of a lake (results.analyzed.AnalyzedRun)."""

    def __init__(self, lake: Lake, run: str, documents: dict[str, str]) -> None:
        self._lake, self._run, self._documents = lake, run, documents

    @cached_property
    def plan(self) -> RunPlan:
        return self._read("plan", RunPlan.model_validate_json)

    @cached_property
    def environment(self) -> Environment:
        return (
            self._read("environment", Environment.model_validate_json)
            if "environment" in self._documents
            else Environment()
        )

    @cached_property
    def state(self) -> RunState:
        return self._read("state", RunState.model_validate_json) if "state" in self._documents else RunState()

    @cached_property
    def verdict(self) -> Verdict:
        return self._read("verdict", Verdict.model_validate_json)

    def table(self, table: Table) -> pa.Table:
        return self._lake.table(table.name, [self._run]).select(list(table.names()))

    def _read(self, document: str, parse: Callable[[str], T]) -> T:
        if document not in self._documents:
            hint = "an earlier version added it: brokerlab lake rebuild adds all runs again"
            raise NotFoundError(f"the lake does not hold the {document} of {self._run}", hint=hint)
        try:
            return parse(self._documents[document])
        except ValidationError as error:
            first = error.errors(include_url=False, include_context=False, include_input=False)[0]
            where = ".".join(map(str, first["loc"]))
            raise DamagedFileError(
                f"{self._lake.store.uri}: {document} of {self._run}", f"{where}: {first['msg']}",
                hint="brokerlab lake rebuild makes it again from the run directory",
            ) from error  # fmt: skip


class LakeRuns:
    """The runs of a lake (results.compare.measured.Source). A name is a run's name, `last`, a tag, or a part of a name that
    only one run has; in this order."""

    def __init__(self, lake: Lake) -> None:
        self._lake = lake
        self._names = lake.runs()

    def run(self, name: str) -> LakeRun:
        """The run of this name. NotFoundError where none, or more than one, has it."""
        one = self._one(name)
        if one is None:
            near = self.nearest(name)
            hint = f"did you mean {near!r}?" if near else f"the lake holds {len(self._names)} runs"
            raise NotFoundError(f"no run in {self._lake.store.uri} is called {name!r}", hint=hint)
        return self.analyzed([one])[0]

    def analyzed(self, names: Sequence[str] | None = None) -> list[LakeRun]:
        """These runs, or all, with their documents read at once."""
        names = self._names if names is None else names
        found = self._lake.table(DOCUMENTS.name, names)
        of: dict[str, dict[str, str]] = {name: {} for name in names}
        for run, document, text in zip(*(found[c].to_pylist() for c in DOCUMENTS.names()), strict=True):
            of[run][document] = text
        return [LakeRun(self._lake, name, documents) for name, documents in of.items()]

    def find(self, name: str) -> Found | None:
        tagged = [] if name in self._names else [run for run, tag in self._tags.items() if tag == name]
        one = None if tagged else self._one(name)
        if tagged and all(self._is_followed(run) for run in tagged):
            said = ", ".join(named_in_progress(run) for run in tagged[:5])
            raise NotFoundError(f"no run tagged {name!r} has been analyzed: {said}", hint="wait until one has ended")
        return self._found(tagged) if tagged else self._found([one], chosen=True) if one else None

    def every(self) -> Found:
        return self._found(self._names)

    def _found(self, names: Sequence[str], *, chosen: bool = False) -> Found:
        """What `lake follow` has brought in is not the whole run: it counts only where it was `chosen` by its name."""
        followed = [] if chosen else [run for run in names if self._is_followed(run)]
        ended = [run for run in names if run not in followed]
        return Found(tuple(measured(run) for run in self.analyzed(ended)), tuple(map(named_in_progress, followed)))

    def _is_followed(self, run: str) -> bool:
        return self._lake.manifest.runs[run].inputs.startswith(FOLLOWED)

    def nearest(self, name: str) -> str | None:
        known = {run.partition("-")[2].rpartition("-")[0]: run for run in self._names} | {n: n for n in self._names}
        known |= {tag: tag for tag in self._tags.values() if tag}
        close = difflib.get_close_matches(name, [k for k in known if k], n=1, cutoff=0.6)
        return known[close[0]] if close else None

    def table(self, run: str, table: Table) -> pa.Table:
        return self._lake.table(table.name, [run]).select(list(table.names()))

    @cached_property
    def _tags(self) -> dict[str, str | None]:
        found = self._lake.table(RUNS.name, columns=["tag"])
        return dict(zip(found["run"].to_pylist(), found["tag"].to_pylist(), strict=True))

    def _one(self, name: str) -> str | None:
        if name in self._names:
            return name
        if name == "last" and self._names:
            return self._names[-1]
        hits = [run for run in self._names if name in run]
        if len(hits) > 1:
            raise NotFoundError(
                f"{name!r} matches {len(hits)} runs: {', '.join(hits[:5])}", hint="give more of the name"
            )
        return hits[0] if hits else None
