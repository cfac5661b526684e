"""A study's cells as plans: the workload of their experiment with the fields of the scale and of the cell laid over it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import yaml

from brokerlab.brokers.registry import broker_named
from brokerlab.errors import Problem, WorkloadError
from brokerlab.model.plan import CellPlan, RunPlan
from brokerlab.studies.load import CALIBRATED, Study, StudyCell
from brokerlab.workload.tree import Path as TreePath
from brokerlab.workload.tree import path_text

Planner = Callable[[Path, list[str]], RunPlan]  # a workload file and overrides to a plan; lab.plan
NOT_CALIBRATED_PER_S = 1_000.0  # stands in for the calibrated rate until it is known, so that a plan can be checked


@dataclass(frozen=True)
class PlannedCell:
    """`plan` is None where the cell cannot run here; `why_not` says why."""

    cell: StudyCell
    plan: RunPlan | None
    why_not: str = ""

    @property
    def name(self) -> str:
        return self.cell.name

    def one(self) -> CellPlan:
        assert self.plan is not None
        return self.plan.cells[0]


@dataclass(frozen=True)
class _Override:
    text: str
    place: TreePath


def planned_cells(
    study: Study, scale: str, planner: Planner, calibrated_per_s: float | None = None
) -> dict[str, PlannedCell]:
    """Every cell of the study at a scale. Raises WorkloadError with all problems of its workloads and overlays; what a
    broker cannot do, or a system that is declared absent, is no problem of the file: such a cell cannot run here."""
    found: dict[str, PlannedCell] = {}
    problems: list[Problem] = []
    for cell in study.cells:
        absent = study.fields.absent.get(_broker(study, cell, scale))
        if absent is not None:
            found[cell.name] = PlannedCell(cell, None, absent)
            continue
        overrides = list(_overrides(study, cell, scale, calibrated_per_s))
        try:
            plan = planner(study.workload(cell.experiment), [o.text for o in overrides])
        except WorkloadError as error:
            refused = [p for p in error.problems if p.refused]
            problems += [_placed(study, p, overrides) for p in error.problems if not p.refused]
            found[cell.name] = PlannedCell(cell, None, "; ".join(f"{p.field}: {p.message}" for p in refused))
            continue
        if len(plan.cells) != 1:
            at: TreePath = _place(study, cell)
            problems.append(
                study.tree.problem(at, f"must be one cell, and is {len(plan.cells)}: name one broker, no sweep")
            )
        found[cell.name] = PlannedCell(cell, plan)
    if problems:
        raise WorkloadError(sorted(dict.fromkeys(problems), key=lambda p: (p.file, p.line)))
    return found


def fingerprint(cell: CellPlan) -> str:
    """Alike for cells that ask the same of the same broker."""
    return hashlib.sha256(cell.model_copy(update={"cell": "", "label": ""}).model_dump_json().encode()).hexdigest()


def without_native(cell: CellPlan) -> str:
    """Why the cell would not be driven by a native path here; empty where it would."""
    if cell.driver == "python":
        return "the cell asks for the Python path"
    found = broker_named(cell.broker).problems(cell.model_copy(update={"driver": "native"}))
    return next((p.message.partition(";")[0] for p in found if p.field == ("driver",)), "")


def calibrated_rate(text: str, calibrated_per_s: float | None) -> str:
    """`0.7 of calibrated` as a rate of three significant digits; any other text as it is."""
    match = CALIBRATED.fullmatch(text)
    if match is None:
        return text
    rate = float(match[1]) * (NOT_CALIBRATED_PER_S if calibrated_per_s is None else calibrated_per_s)
    return f"{max(float(f'{rate:.3g}'), 1.0):.0f}/s"


def _overrides(study: Study, cell: StudyCell, scale: str, calibrated_per_s: float | None) -> Iterator[_Override]:
    chosen = study.scale(scale)
    for field in ("warm_up", "measure", "drain_limit"):
        place: TreePath = ("scales", scale, "phases", field)
        if getattr(chosen.phases, field) is not None:
            yield _Override(f"phases.{field}={study.tree.origin(place).text}", place)
    if chosen.cluster != "fresh":
        yield _Override("cluster.kept=true", ("scales", scale))
    for path in chosen.set:
        place = ("scales", scale, "set", path)
        yield _Override(f"{path}={study.tree.origin(place).text}", place)
    for overlay in cell.overlays:
        if scale in overlay.texts:
            text = calibrated_rate(overlay.texts[scale], calibrated_per_s)
            yield _Override(f"{overlay.path}={text}", overlay.places[scale])


def _placed(study: Study, problem: Problem, overrides: list[_Override]) -> Problem:
    """A problem of an override at its line in study.yaml; those of a workload file keep theirs."""
    for override in overrides:
        if problem.file == f"--set {override.text}":
            at = study.tree.origin(override.place)
            return replace(problem, file=at.file, line=at.line, field=path_text(override.place))
    return problem


def _place(study: Study, cell: StudyCell) -> TreePath:
    number = next(i for i, e in enumerate(study.fields.experiments) if e.id == cell.experiment)
    return ("experiments", number, "cells", cell.name)


def _broker(study: Study, cell: StudyCell, scale: str) -> str:
    """The broker a cell names, by its overlay or its workload; empty where that cannot be seen."""
    for overlay in cell.overlays:
        if overlay.path in ("broker", "brokers") and scale in overlay.texts:
            return overlay.texts[scale].strip("[] ")
    try:
        root = yaml.safe_load(study.workload(cell.experiment).read_text("utf-8"))
    except (OSError, ValueError, yaml.YAMLError):
        return ""  # planning says what is wrong with it
    named = root.get("broker") if isinstance(root, dict) else None
    return named if isinstance(named, str) else ""
